import {
  type BaseArtifactService,
  ConfigurationError,
  type Content,
  type Event,
  type EventActions,
  type EventParams,
  InvalidMessageError,
  type Invocation,
  type InvocationContext,
  type Part,
  InvalidEventError,
} from '@eventloom/core';
import { Calls, sessionKeyOf, setOwn, isBase64, sealContent, describeKind, isRecord } from '@eventloom/core/internal';
import { matchAnswers, type MatchedMessage, type RequestAnswers } from './answers.ts';
import { answeredRun } from './answered-run.ts';
import type { CreatedInvocation } from './create-invocation.ts';
import { stampEvent } from './event-committer.ts';
import type { LockedRun } from './lock-run.ts';
import { IS_REPLACED } from './resume/known-request.ts';
import { toBeginning } from './resume/run-beginning.ts';
import type { RunRequest } from './run-start.ts';
import type { Runner } from './runner.ts';

/**
 * Returns the message of a new run, checked, with its role: a sealed copy, which its event and the model requests share.
 * @throws InvalidMessageError when it is empty, not JSON, not the user's, holds function calls, or mixes function responses with
 * anything else
 */
export function checkNewMessage(message: Content): Content {
  if (!isRecord(message)) fail(`expected an object, got ${shown(message)}; ${EXAMPLE}`);
  if (!Array.isArray(message.parts) || message.parts.length === 0) fail(`has no parts; ${EXAMPLE}`);
  const { role = 'user', parts } = message;
  if (role !== 'user') fail(`has the role ${JSON.stringify(role)}; write role: "user"`);
  let responses = 0;
  let isEmpty = true;
  for (const [index, part] of parts.entries()) {
    if (typeof part !== 'object' || part === null)
      fail(`parts[${index}]: expected an object, got ${shown(part)}; write { text: 'hello' }`);
    const fault = faultOfUserPart(part);
    if (fault !== undefined) fail(`parts[${index}] ${fault}`);
    if (part.functionResponse) responses++;
    if (part.text?.trim() !== '') isEmpty = false;
  }
  if (responses > 0 && responses < parts.length)
    fail('mixes function responses with other parts; send them in separate messages');
  if (isEmpty) fail('is empty: its text has only blanks');
  try {
    return sealContent(message.role === undefined ? { ...message, role } : message);
  } catch (error) {
    if (!InvalidEventError.isInstance(error)) throw error;
    return fail(error.message.replace('content.', ''));
  }
}

const EXAMPLE = "write { role: 'user', parts: [{ text: 'hello' }] }";

/** A text as it is, in short, and the kind of any other value. */
function shown(value: unknown): string {
  if (typeof value !== 'string') return describeKind(value);
  return `the text ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
}

function fail(fault: string): never {
  throw new InvalidMessageError(`newMessage: ${fault}`);
}

/** The payloads of a user's parts, each with a check that returns the fault. */
const PAYLOADS: Readonly<Record<string, (part: Part) => string | undefined>> = {
  text: ({ text }) => (typeof text === 'string' ? undefined : 'has a text that is no string'),
  inlineData: ({ inlineData }) => {
    if (!isText(inlineData?.mimeType)) return 'has inlineData without a mimeType';
    return isBytes(inlineData?.data) ? undefined : 'has inlineData whose data is empty or not base64';
  },
  fileData: ({ fileData }) => (isText(fileData?.fileUri) ? undefined : 'has fileData without a fileUri'),
  functionResponse: ({ functionResponse }) => {
    if (!isText(functionResponse?.id)) return 'is a function response without the id of its call';
    const response: unknown = functionResponse?.response ?? {};
    const isObject = typeof response === 'object' && !Array.isArray(response);
    return isObject ? undefined : 'is a function response whose response is not an object';
  },
};

/** Payloads that only models write. */
const MODEL_PAYLOADS = ['functionCall', 'executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse'] as const;

/** Returns the fault of a part of a user's message, to follow "parts[n] "; undefined for a valid part. */
function faultOfUserPart(part: Part): string | undefined {
  if (typeof part.text === 'string' && Object.keys(part).length === 1) return undefined;
  for (const payload of MODEL_PAYLOADS) if (part[payload]) return `is a ${payload}; only models make those`;
  if (part.thought === true) return 'is a thought; only models have those';
  const given = Object.keys(PAYLOADS).filter((key) => (part[key as keyof Part] ?? undefined) !== undefined);
  const [payload] = given;
  if (payload === undefined) return `has none of ${Object.keys(PAYLOADS).join(', ')}; write { text: 'hello' }`;
  if (given.length > 1) return `has ${given.join(' and ')}; a part holds one thing`;
  return PAYLOADS[payload]?.(part);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isBytes(data: unknown): boolean {
  return typeof data === 'string' && data !== '' && isBase64(data);
}

/** The ids of the calls that a message answers; empty for a message that answers none. */
export function answeredCallIds({ parts = [] }: Content): readonly string[] {
  let ids: string[] | undefined;
  for (const { functionResponse } of parts) if (functionResponse?.id) (ids ??= []).push(functionResponse.id);
  return ids ?? NO_IDS;
}

const NO_IDS: readonly string[] = [];

/**
 * Matches a message to the calls that it answers.
 *
 * @param before the answers of the message that this one replaces
 * @throws InvalidMessageError
 */
export function matchContent(
  { platform, requestTtlMs, credentialService }: Runner,
  { loaded, resumed, invocationId, lock }: LockedRun,
  message: Content,
  before?: RequestAnswers,
): Promise<MatchedMessage> | MatchedMessage {
  if (answeredCallIds(message).length === 0) return { message, calls: [], answers: undefined };
  const { events } = loaded.session;
  const calls = Calls.of(loaded.session, loaded.derived);
  const onlyRun = resumed && invocationId;
  const isUnfinished = resumed !== undefined && lock.run?.wasOpen === true;
  const params = { events, calls, invocationId: onlyRun, isUnfinished, platform, requestTtlMs, credentialService };
  return matchAnswers(message, params, before);
}

/**
 * Lets the plugins replace the message that the run starts with.
 *
 * @throws InvalidMessageError, also for a message that answers another run than the one it replaces
 */
export async function replaceMessage(
  runner: Runner,
  run: LockedRun,
  matched: MatchedMessage,
  invocationContext: InvocationContext,
): Promise<MatchedMessage> {
  const userMessage = matched.message;
  const given = await invocationContext.whileConnected(
    invocationContext.plugins.first('onUserMessageCallback', { invocationContext, userMessage }),
  );
  if (!given) return matched;
  const message = checkNewMessage(given);
  checkReplacement(run, message);
  return matchContent(runner, run, message, matched.answers);
}

function checkReplacement({ resumed, loaded }: LockedRun, message: Content): void {
  const callIds = answeredCallIds(message);
  const isSameRun = resumed
    ? callIds.length > 0
    : callIds.length === 0 || answeredRun(Calls.of(loaded.session, loaded.derived), callIds) === undefined;
  if (isSameRun) return;
  throw new InvalidMessageError(
    'newMessage: the message that onUserMessageCallback returned answers another run; return one that answers the same run or none',
  );
}

/** Marks a user event as a continuation, so that reading back to the start of the run does not stop at it. */
const CONTINUES: Partial<EventActions> = { agentState: { resumesCalls: true } };

/** A message to be stored. */
export interface MessageToStore {
  readonly matched: MatchedMessage;
  /** True if a plugin replaced the message that was sent. */
  readonly isReplaced: boolean;
  /** State that is written together with the message. */
  readonly stateDelta: Readonly<Record<string, unknown>>;
  /** The branch of a message that answers no call. */
  readonly branch: string | undefined;
}

/**
 * Stores the message that a run starts with, or the answers that it resumes with. Answers to calls on one branch become one event on
 * that branch; the events of one message are stored together or not at all. Credentials among them are handed to the credential service, and never stored in an event.
 */
export async function storeMessage(
  { invocation, committer }: CreatedInvocation,
  { matched, isReplaced, stateDelta, branch }: MessageToStore,
): Promise<void> {
  const { runConfig, session, artifactService, recorded } = invocation;
  const { calls, answers } = matched;
  let content = matched.message;
  let actions: Partial<EventActions> = recorded ? { stateDelta, ...CONTINUES } : { stateDelta };
  if (!recorded && runConfig.saveInputBlobsAsArtifacts) {
    const saved = await saveInputBlobs(invocation, content, artifactService);
    content = saved.content;
    invocation.userContent = content;
    actions = { ...actions, artifactDelta: saved.artifactDelta };
  }
  if (!recorded && runConfig.resumable) actions = { ...actions, agentState: toBeginning(runConfig) };
  if (isReplaced && runConfig.requestId !== undefined)
    actions = { ...actions, agentState: { ...actions.agentState, [IS_REPLACED]: true } };
  if (answers) await answers.keepCredentials(sessionKeyOf(session));
  const events: EventParams[] = [];
  for (const [place, parts] of partsByBranch(content.parts ?? [], calls, branch)) {
    const event = { author: 'user', content: { ...content, parts }, actions };
    events.push(place === undefined ? event : { ...event, branch: place });
    actions = CONTINUES;
  }
  const [only, ...others] = events;
  if (only && others.length === 0) await committer.appendNew(only);
  else await committer.appendAllNew(events);
}

/**
 * Creates the event of a message that needs nothing from the session, so that the store appends it as it begins the run. Undefined when
 * plugins may replace the message, or its files are saved as artifacts.
 */
export function messageToBeginWith(
  { platform, pluginManager }: Runner,
  { start, config, stateDelta }: RunRequest,
  invocationId: string,
): Event | undefined {
  if (start.kind !== 'message' || config.saveInputBlobsAsArtifacts) return undefined;
  if (pluginManager.has('onUserMessageCallback')) return undefined;
  const event: Event = {
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    // The store dates the message: the run may wait long for its session.
    timestamp: 0,
    executionId: invocationId,
    content: start.message,
    actions: { stateDelta, artifactDelta: {}, ...(config.resumable && { agentState: toBeginning(config) }) },
  };
  return stampEvent(event, config);
}

/** Saves each piece of inline data as an artifact, and replaces it in the message by a line of text. */
async function saveInputBlobs(
  { session, invocationId }: Invocation,
  message: Content,
  artifactService: BaseArtifactService | undefined,
): Promise<{ readonly content: Content; readonly artifactDelta: Record<string, number> }> {
  if (!artifactService) {
    throw new ConfigurationError(
      'runConfig.saveInputBlobsAsArtifacts: the runner has no artifactService; write artifactService: new InMemoryArtifactService() in its options',
    );
  }
  const artifactDelta: Record<string, number> = {};
  const parts: Part[] = [];
  for (const [index, part] of (message.parts ?? []).entries()) {
    if (!part.inlineData) {
      parts.push(part);
      continue;
    }
    const filename = `artifact_${invocationId}_${index}`;
    const version = await artifactService.saveArtifact({ ...sessionKeyOf(session), filename, artifact: part });
    setOwn(artifactDelta, filename, version);
    parts.push({ text: `Uploaded file: ${filename}. It is saved as an artifact.` });
  }
  return { content: { ...message, parts }, artifactDelta };
}

/**
 * Groups the parts of a message by branch, in order: a function response belongs to the branch of its call.
 *
 * @param calls the call of each part; empty for a message that answers none
 * @param branch the branch of a message that answers none
 */
function partsByBranch(
  parts: Part[],
  calls: MatchedMessage['calls'],
  branch: string | undefined,
): Iterable<readonly [string | undefined, Part[]]> {
  if (calls.length === 0) return [[branch, parts]];
  const byBranch = new Map<string | undefined, Part[]>();
  for (const [index, part] of parts.entries()) {
    const place = calls[index]?.event.branch;
    byBranch.set(place, [...(byBranch.get(place) ?? []), part]);
  }
  return byBranch;
}
