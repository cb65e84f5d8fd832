import {
  type AuthCredential,
  type BaseCredentialService,
  ConfigurationError,
  type Content,
  type Event,
  type FunctionResponse,
  type InputRequest,
  InvalidMessageError,
  ObjectType,
  type Part,
  type Platform,
  REQUEST_CONFIRMATION,
  type SessionKey,
  type ToolConfirmation,
} from '@eventloom/core';
import {
  aboutCallId,
  branchInScope,
  Calls,
  type CheckedMessage,
  inputRequestOf,
  isCancelled,
  isPersonRequest,
  isRecord,
  isOfWorkflowNode,
  newestFirst,
  unsettledRequests,
  readCredential,
  readNewest,
  type SessionCall,
  stateOf,
  tryParseJson,
} from '@eventloom/core/internal';
import { ValueSchema } from '@eventloom/tools';
import { areKnown } from './answered-run.ts';
import type { LockedRun } from './lock-run.ts';
import { answeredCallIds, type RunRequest } from './run-request.ts';
import type { Runner } from './runner.ts';

type JsonRecord = Readonly<Record<string, unknown>>;

/** A checked message, matched to the calls that it answers: one call for each of its function responses, in their order. */
export interface MatchedMessage extends CheckedMessage {
  readonly answers: PersonAnswers | undefined;
}

/** The session whose calls a message answers, and the runner's options for answers. */
interface MatchParams {
  /** The events of the session, in order. */
  readonly events: readonly Event[];
  readonly calls: Calls;
  /** The run that is resumed: only its calls can be answered. */
  readonly invocationId?: string | undefined;
  /** The run that works with the answers that it stored: one that is in progress, or was interrupted and is resumed. */
  readonly workingRun?: string | undefined;
  readonly platform: Platform;
  /** Time in which a request to a person can be answered, in milliseconds; undefined: no limit. */
  readonly requestTtlMs: number | undefined;
  readonly credentialService: BaseCredentialService | undefined;
}

/**
 * Matches a message to the calls that it answers.
 *
 * @param before the answers of the message that this one replaces
 * @throws InvalidMessageError
 */
export function matchMessage(
  { platform, requestTtlMs, credentialService }: Runner,
  { loaded, resumed, run, start }: LockedRun,
  message: Content,
  before?: PersonAnswers,
): Promise<MatchedMessage> | MatchedMessage {
  if (answeredCallIds(message).length === 0) return { message, calls: [], answers: undefined };
  const { events } = loaded.session;
  const calls = Calls.of(loaded);
  const { invocationId, wasOpen } = run;
  const onlyRun = resumed && invocationId;
  const workingRun = start.kind === 'live' || (resumed && wasOpen) ? invocationId : undefined;
  const params = { events, calls, invocationId: onlyRun, workingRun, platform, requestTtlMs, credentialService };
  return matchAnswers(message, params, before);
}

/**
 * Checks answers against the session as it is now, so that answers which cannot be taken interrupt no run. A call that
 * runs with an earlier answer takes no other one.
 *
 * @throws SessionNotFoundError, InvalidMessageError
 */
export async function checkAnswers(runner: Runner, { key, callIds, start }: RunRequest): Promise<void> {
  const { platform, requestTtlMs, credentialService, sessionService } = runner;
  if (!start.message) return;
  const events = await readNewest(sessionService, key, (read) => areKnown(read, callIds));
  const calls = new Calls(events);
  const answers = calls.answerable(callIds).flatMap((call) => call?.responses ?? []);
  let workingRun: string | undefined;
  for (const id of new Set(answers.map(({ event }) => event.invocationId)))
    if ((await sessionService.findRun({ ...key, id }))?.open) workingRun = id;
  await matchAnswers(start.message, { events, calls, workingRun, platform, requestTtlMs, credentialService });
}

/**
 * Finds the call that each function response of a message answers. Puts the call's name into the response, and brings answers to requests
 * into the form in which they are stored.
 *
 * @param before the answers of the message that this one replaces
 * @throws InvalidMessageError for a response to no call of the session or to a call that has its final response, and for an invalid answer
 *   to a request
 */
export async function matchAnswers(
  message: Content,
  params: MatchParams,
  before?: PersonAnswers,
): Promise<MatchedMessage> {
  const { invocationId, calls } = params;
  const answers = new PersonAnswers(params, before);
  const ids = message.parts?.flatMap(({ functionResponse }) => (functionResponse ? (functionResponse.id ?? '') : []));
  const answerable = calls.answerable(ids ?? [], invocationId);
  const matched: SessionCall[] = [];
  const parts: Part[] = [];
  for (const part of message.parts ?? []) {
    const response = part.functionResponse;
    if (!response) continue;
    const call = answerable[matched.length];
    checkCall(call, response, invocationId);
    matched.push(call);
    const functionResponse = await answers.read({ ...response, name: call.call.name ?? '' }, call);
    checkRun(call, calls);
    // Other parts of an answer are dropped: they may contain the secret that was removed from it.
    parts.push(isPersonRequest(call.call) ? { functionResponse } : { ...part, functionResponse });
  }
  return { message: { ...message, parts }, calls: matched, answers };
}

function checkCall(
  call: SessionCall | undefined,
  { id = '', name }: FunctionResponse,
  invocationId: string | undefined,
): asserts call is SessionCall {
  const fail = (fault: string): never => {
    throw new InvalidMessageError(`newMessage: ${fault}`);
  };
  if (!call) {
    const maker = invocationId === undefined ? 'a run of this session' : `the run ${JSON.stringify(invocationId)}`;
    return fail(
      `there is no call with the id ${JSON.stringify(id)} that ${maker} made and that takes an answer; write the id of a call that waits`,
    );
  }
  if (isCancelled(call))
    fail(
      `the call ${JSON.stringify(id)} was cancelled with its run or its agent, so it takes no answer; send a message without it`,
    );
  if (!call.isLongRunning) {
    const fault = call.responses.length > 0 ? 'has already been answered' : 'can be answered only by its tool';
    fail(`the call ${JSON.stringify(id)} ${fault}`);
  }
  if (name !== undefined && name !== call.call.name)
    fail(
      `the call ${JSON.stringify(id)} is a call of ${JSON.stringify(call.call.name)}, not of ${JSON.stringify(name)}`,
    );
}

/** Refuses an answer to a node of a workflow whose resumable run has ended: it would begin the workflow again. */
function checkRun({ id, event }: SessionCall, calls: Calls): void {
  if (!isOfWorkflowNode(event) || !calls.hasEnded(event.invocationId)) return;
  throw new InvalidMessageError(
    `newMessage: the call ${JSON.stringify(id)} of "${event.author}" takes an answer only in its run, which has ended; send a message without it`,
  );
}

/** A credential in a message. */
interface GivenCredential {
  readonly credentialKey: string;
  readonly credential: AuthCredential;
}

/**
 * The answers of one message to requests that tools and agents made to people. Credentials are taken out of the answers, and handed to the
 * credential service right before the message is stored. If the message then cannot be stored, they stay with the service.
 */
class PersonAnswers {
  readonly #params: MatchParams;
  readonly #before: PersonAnswers | undefined;
  /** The ids of the requests that were answered, with the credential of the answer. */
  readonly #given = new Map<string, GivenCredential | undefined>();
  /** The questions that agents ask themselves, by agent, branch and key. */
  readonly #ofAgents = new Set<string>();

  /** @param before the answers of the message that this one replaces: its credentials still count */
  constructor(params: MatchParams, before?: PersonAnswers) {
    this.#params = params;
    this.#before = before;
  }

  /**
   * Returns the response as it is stored; unchanged if its call is not a request to a person.
   *
   * @throws InvalidMessageError for a request that is settled, a second answer to a request, and an invalid answer
   * @throws ConfigurationError for a credential if there is no service to store it
   */
  async read(response: FunctionResponse, request: SessionCall): Promise<FunctionResponse> {
    const { id, call } = request;
    if (!isPersonRequest(call)) {
      refuseCredential(response.response, id);
      return response;
    }
    if (this.#given.has(id)) failAnswer(id, 'is answered twice in the message');
    if (aboutCallId(call) === undefined && this.#isContinued(request)) failAnswer(id, 'has already been answered');
    if (request.about && !unsettledRequests(request.about).includes(request))
      failAnswer(id, 'has already been answered, and its tool call has completed');
    if (this.#isAnswerUsed(request)) failAnswer(id, 'has already been answered');
    this.#checkSameQuestion(request);
    this.#given.set(id, undefined);
    const answer = await this.#read(response.response ?? {}, request);
    return { id, name: call.name ?? '', response: answer };
  }

  /**
   * True if a request about a tool call has an answer that is used: the call waits for the answer to another request, or
   * the run of the answer works with it. A later answer replaces one that nobody used.
   */
  #isAnswerUsed({ about, responses }: SessionCall): boolean {
    const { calls, workingRun } = this.#params;
    if (responses.length > 0 && about && stateOf(about) === 'asked') return true;
    return responses.some(
      ({ event: { invocationId } }) =>
        invocationId === workingRun || (about !== undefined && calls.canContinue(invocationId)),
    );
  }

  /** Refuses answers to one question that an agent asked in several runs: the run that they begin would use one of them. */
  #checkSameQuestion({ id, call, branch, about, event: { author, invocationId } }: SessionCall): void {
    if (about || this.#params.calls.canContinue(invocationId)) return;
    const question = JSON.stringify([author, branch, inputRequestOf(call)?.key]);
    if (this.#ofAgents.has(question))
      failAnswer(id, `is a question that "${author}" asked more than once; send one message per answer`);
    this.#ofAgents.add(question);
  }

  #read(response: JsonRecord, { id, call, event }: SessionCall): JsonRecord | Promise<JsonRecord> {
    const { platform, requestTtlMs } = this.#params;
    const isLate = requestTtlMs !== undefined && platform.now() > event.timestamp * 1000 + requestTtlMs;
    const expired = isLate ? { expired: true } : {};
    const input = inputRequestOf(call);
    // An answer that came too late is not checked.
    if (input) return isLate ? expired : readInput(input, response, id, isOfWorkflowNode(event));
    const given = unwrapAnswer(response, id);
    if (call.name === REQUEST_CONFIRMATION) return { ...readConfirmation(given, id), ...expired };
    return { provided: this.#takeCredential(given, id, call.args, isLate), ...expired };
  }

  /**
   * True if the agent that made the request, or any node of its workflow, yielded an event after the first answer to
   * it. If none did, because the run was interrupted, the request can be answered again.
   */
  #isContinued({ event: asking, branch, responses: [first] }: SessionCall): boolean {
    const isOfNode = isOfWorkflowNode(asking);
    for (const event of first ? newestFirst(this.#params.events) : []) {
      if (event === first?.event) return false;
      if (event.author === asking.author && branchInScope(event) === branch) return true;
      const isOfRun = isOfNode && event.invocationId === first?.event.invocationId;
      if (isOfRun && (isOfWorkflowNode(event) || event.object === ObjectType.runnerEnd)) return true;
    }
    return false;
  }

  #takeCredential(given: JsonRecord, id: string, args: JsonRecord = {}, isLate: boolean): boolean {
    const { credentialService } = this.#params;
    if (!credentialService) {
      throw new ConfigurationError(
        'newMessage: has a credential: the runner has no credentialService; write credentialService: new InMemoryCredentialService() in its options',
      );
    }
    if (isLate) return false;
    const known = given['provided'] === true && this.#before ? this.#before.#given.get(id) : undefined;
    const { authConfig } = args;
    const credential = known?.credential ?? credentialService.readAnswer(given, authConfig);
    if (!credential && !isRefusal(given))
      failAnswer(
        id,
        "has an answer without a credential; write { authType: 'apiKey', apiKey: '…' }, or {} to give none",
      );
    const credentialKey = isRecord(authConfig) ? authConfig['credentialKey'] : undefined;
    if (!credential || typeof credentialKey !== 'string') return false;
    this.#given.set(id, { credentialKey, credential });
    return true;
  }

  /** Hands the credentials to the service. */
  async keepCredentials({ appName, userId }: SessionKey): Promise<void> {
    for (const given of this.#given.values()) {
      if (given) await this.#params.credentialService?.saveCredential({ appName, userId, ...given });
    }
  }
}

/** Returns an answer as an object. Clients of the ADK may send it as JSON text under `response`. */
export function unwrapAnswer(response: JsonRecord, id: string): JsonRecord {
  const text = response['response'];
  if (typeof text !== 'string' || Object.keys(response).length > 1) return response;
  const value = tryParseJson(text);
  return isRecord(value) ? value : failAnswer(id, 'has an answer whose response is not the JSON of an object');
}

/**
 * Returns the answer to a request for a confirmation in the form in which it is stored.
 *
 * @throws InvalidMessageError
 */
export function readConfirmation({ confirmed, payload }: JsonRecord, id: string): JsonRecord {
  if (typeof confirmed !== 'boolean')
    failAnswer(id, 'has an answer without confirmed; write { confirmed: true } or { confirmed: false }');
  return { confirmed, ...(payload === undefined || payload === null ? {} : { payload }) };
}

/**
 * Reads the answer to a request for input. Clients send `{result}`, or the answer itself as an object: the schema distinguishes them. A
 * text that does not match the schema is parsed as JSON, because people type it.
 *
 * @param isOfNode true for a node of a workflow, which gets other texts and any object as they are, as in the ADK
 */
async function readInput(
  { responseSchema }: InputRequest,
  response: JsonRecord,
  id: string,
  isOfNode: boolean,
): Promise<JsonRecord> {
  const properties = responseSchema?.['properties'];
  if (!isRecord(properties) || !('authType' in properties)) refuseCredential(response, id);
  const keys = Object.keys(response);
  const value = keys.length === 1 && keys[0] === 'result' ? response['result'] : response;
  const isConfirmation =
    typeof response['confirmed'] === 'boolean' && keys.every((key) => Object.hasOwn(CONFIRMATION, key));
  if (isConfirmation && !responseSchema && !isOfNode)
    failAnswer(id, 'asks for input and has a confirmation as its answer; write { result: … }');
  if (!responseSchema) return { result: value };
  const schema = new ValueSchema(responseSchema, `request ${JSON.stringify(id)}`);
  const issues = await issuesOf(schema, value);
  if (issues.length === 0) return { result: value };
  // The answer itself may be an object whose only field is `result`.
  for (const other of [typeof value === 'string' ? tryParseJson(value) : undefined, response])
    if (other !== undefined && (await issuesOf(schema, other)).length === 0) return { result: other };
  if (isOfNode && typeof value === 'string') return { result: value };
  return failAnswer(id, `has an answer that does not match the requested schema: ${issues.join('; ')}`);
}

/** Members of an answer to a request for a confirmation. */
const CONFIRMATION: Readonly<Record<keyof ToolConfirmation, true>> = { confirmed: true, hint: true, payload: true };

/** Members of a credential with its secrets. */
const SECRETS = ['apiKey', 'http', 'oauth2', 'serviceAccount'];

/** Refuses a credential as the answer to a call that did not ask for one: it would become part of the session, and reach the model. */
function refuseCredential(response: JsonRecord = {}, id: string): void {
  const text = response['response'];
  const given = typeof text === 'string' ? tryParseJson(text) : response;
  const credential = isRecord(given) ? readCredential(given) : undefined;
  if (credential && SECRETS.some((key) => key in credential))
    failAnswer(id, 'did not ask for a credential; send a credential only to a request for one');
}

/** True for an answer that gives no credential: it is empty, or has an error, or is an auth config without a credential. */
function isRefusal(answer: JsonRecord): boolean {
  const keys = Object.keys(answer);
  return keys.length === 0 || keys.some((key) => REFUSAL.test(key));
}

const REFUSAL = /^(error|provided|auth_?(scheme|type)|(raw|exchanged)_?auth_?credential|credential_?key)$/i;

async function issuesOf(schema: ValueSchema, value: unknown): Promise<readonly string[]> {
  const checked = await schema.check(value);
  return 'issues' in checked ? checked.issues : [];
}

/** Throws the error for an invalid answer. Its message has no part of the answer, which may be a secret. */
function failAnswer(id: string, fault: string): never {
  throw new InvalidMessageError(`newMessage: the request ${JSON.stringify(id)} ${fault}`);
}
