import {
  type BaseArtifactService,
  ConfigurationError,
  type Content,
  type Event,
  type EventActions,
  InvalidArtifactNameError,
  InvalidMessageError,
  type Invocation,
  type Part,
  type SessionKey,
} from '@eventloom/core';
import { Calls, checkArtifactName, RunMark, sessionKeyOf, setOwn } from '@eventloom/core/internal';
import { matchMessage, type MatchedMessage } from './answers.ts';
import { answeredRun } from './answered-run.ts';
import { stampEvent } from './event-committer.ts';
import type { LockedRun } from './lock-run.ts';
import { type PickedAgent, pickAgent } from './pick-agent.ts';
import type { RunControl } from './run-control.ts';
import { toRunMarks } from './stored-runs/run-marks.ts';
import type { RunInvocation } from './run-invocation.ts';
import { answeredCallIds, checkNewMessage, type RunRequest } from './run-request.ts';
import type { Runner } from './runner.ts';

/** A message that is to be stored before the run begins, with the state that is written together with it. */
interface StartToStore {
  /** Undefined for a run without a message: one that is resumed without answers, or is live. */
  readonly matched: MatchedMessage | undefined;
  readonly stateDelta: Readonly<Record<string, unknown>>;
}

/**
 * Begins a run whose message was not stored as its session was locked: the plugins may replace the message, the agent
 * that takes it is picked, and the message is stored. Returns that agent.
 *
 * @throws InvalidMessageError as `replaceMessage` and `pickAgent`
 */
export async function beginOnceLocked(
  runner: Runner,
  invocation: RunInvocation,
  control: RunControl,
  { matched: sent, stateDelta }: StartToStore,
): Promise<PickedAgent> {
  const { locked, context } = invocation;
  const isAsked = sent !== undefined && context.plugins.has('onUserMessageCallback');
  const matched = isAsked ? await replaceMessage(runner, invocation, sent) : sent;
  const picked = await pickAgent(runner, locked, matched);
  control.live?.checkAgent(picked.agent, runner.agent);
  if (matched) {
    const { branch } = picked;
    await storeMessage(invocation, { matched, isReplaced: matched !== sent, stateDelta, branch });
  }
  control.noteBegun(locked.run, locked.lock.lease, locked.loaded.session.lastSeq);
  return picked;
}

/**
 * Lets the plugins replace the message that the run starts with.
 *
 * @throws InvalidMessageError, also for a message that answers another run than the one it replaces
 */
async function replaceMessage(
  runner: Runner,
  { locked, context: invocationContext, shared }: RunInvocation,
  matched: MatchedMessage,
): Promise<MatchedMessage> {
  const userMessage = matched.message;
  const given = await invocationContext.whileConnected(
    invocationContext.plugins.first('onUserMessageCallback', { invocationContext, userMessage }),
  );
  if (!given) return matched;
  const message = checkNewMessage(given);
  checkReplacement(locked, message);
  const replaced = await matchMessage(runner, locked, message, matched.answers);
  if (!locked.resumed) shared.userContent = replaced.message;
  return replaced;
}

function checkReplacement({ resumed, loaded }: LockedRun, message: Content): void {
  const callIds = answeredCallIds(message);
  const isSameRun = resumed
    ? callIds.length > 0
    : callIds.length === 0 || answeredRun(Calls.of(loaded), callIds) === undefined;
  if (isSameRun) return;
  throw new InvalidMessageError(
    'newMessage: the message that onUserMessageCallback returned answers another run; return one that answers the same run or none',
  );
}

/** Marks a user event as a continuation, so that reading back to the start of the run does not stop at it. */
const CONTINUES: Partial<EventActions> = { agentState: { [RunMark.continues]: true } };

/** A message to be stored. */
interface MessageToStore {
  readonly matched: MatchedMessage;
  /** True if a plugin replaced the message that was sent. */
  readonly isReplaced: boolean;
  /** State that is written together with the message. */
  readonly stateDelta: Readonly<Record<string, unknown>>;
  /** The branch of a message that answers no call. */
  readonly branch: string | undefined;
}

/**
 * Stores the message that a run starts with, or the answers that it resumes with. Answers to calls on one branch become
 * one event on that branch; the events of one message are stored together or not at all. Credentials among them are
 * handed to the credential service, and never stored in an event.
 */
async function storeMessage(
  { shared, committer, appender }: RunInvocation,
  { matched, isReplaced, stateDelta, branch }: MessageToStore,
): Promise<void> {
  const { runConfig, session, artifactService, resumedLog } = shared;
  const { calls, answers } = matched;
  let content = matched.message;
  let actions: Partial<EventActions> = resumedLog ? { stateDelta, ...CONTINUES } : { stateDelta };
  if (!resumedLog && runConfig.saveInputBlobsAsArtifacts) {
    const saved = await saveInputBlobs(shared, content, artifactService);
    content = saved.content;
    shared.userContent = content;
    actions = { ...actions, artifactDelta: saved.artifactDelta };
  }
  if (!resumedLog && runConfig.resumable) actions = { ...actions, agentState: toRunMarks(runConfig, shared.rootAgent) };
  if (isReplaced && runConfig.requestId !== undefined)
    actions = { ...actions, agentState: { ...actions.agentState, [RunMark.isReplaced]: true } };
  if (answers) await answers.keepCredentials(sessionKeyOf(session));
  const events: Event[] = [];
  for (const [place, parts] of partsByBranch(content.parts ?? [], calls, branch)) {
    const event = { author: 'user', content: { ...content, parts }, actions };
    events.push(committer.create(place === undefined ? event : { ...event, branch: place }));
    actions = CONTINUES;
  }
  const [only, ...others] = events;
  if (only && others.length === 0) await appender.append(only);
  else await appender.appendAll(events);
}

/**
 * Checks that a message and its state can be stored, before another run is interrupted for them. Content that plugins may replace is not
 * checked; of one whose files are saved as artifacts, the files are.
 *
 * @throws SizeLimitError, and the other errors of `saveArtifact` for a file
 */
export async function checkStorable(
  runner: Runner,
  { start, config, stateDelta, key, callIds }: RunRequest,
  invocationId: string,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  if (!start.message) return;
  const { message } = start;
  const { sessions, sessionService, pluginManager, platform } = runner;
  const mayChange = pluginManager.has('onUserMessageCallback');
  if (config.saveInputBlobsAsArtifacts && !mayChange && callIds.length === 0)
    await sessions.readAhead(() => checkInputBlobs(runner, key, invocationId, message), { abortSignal });
  const isKept = !config.saveInputBlobsAsArtifacts && !mayChange;
  const event: Event = {
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    timestamp: 0,
    ...(isKept && { content: message }),
    actions: { stateDelta, artifactDelta: {} },
  };
  await sessions.readAhead(async () => sessionService.checkAppend?.({ ...key, event: stampEvent(event, config) }), {
    abortSignal,
  });
}

/** Checks that the artifact service accepts each piece of inline data of a message. @throws the errors of `saveArtifact` */
async function checkInputBlobs(
  { artifactService }: Pick<Runner, 'artifactService'>,
  key: SessionKey,
  invocationId: string,
  { parts = [] }: Content,
): Promise<void> {
  for (const [index, part] of parts.entries())
    if (part.inlineData)
      await artifactService?.checkSave?.({ ...key, filename: nameOfBlob(part, invocationId, index), artifact: part });
}

/** Returns the name under which inline data of a message is saved. */
function nameOfBlob({ inlineData }: Part, invocationId: string, index: number): string {
  return artifactName(inlineData?.displayName) ?? `artifact_${invocationId}_${index}`;
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
    const filename = nameOfBlob(part, invocationId, index);
    const version = await artifactService.saveArtifact({ ...sessionKeyOf(session), filename, artifact: part });
    setOwn(artifactDelta, filename, version);
    parts.push({ text: `[Uploaded Artifact: "${filename}"]` });
  }
  return { content: { ...message, parts }, artifactDelta };
}

/** Returns the name that the user gave a file; undefined if it has none, or one that an artifact cannot have, such as `../notes.txt`. */
function artifactName(displayName: string | undefined): string | undefined {
  if (!displayName) return undefined;
  try {
    checkArtifactName(displayName);
    return displayName;
  } catch (error) {
    if (InvalidArtifactNameError.isInstance(error)) return undefined;
    throw error;
  }
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
    const place = calls[index]?.branch;
    byBranch.set(place, [...(byBranch.get(place) ?? []), part]);
  }
  return byBranch;
}
