import {
  type BaseSessionService,
  type Content,
  type Event,
  type FunctionResponse,
  getFunctionResponses,
  InvalidMessageError,
  REQUEST_CONFIRMATION,
  REQUEST_CREDENTIAL,
  RequestKnownError,
  RequestReusedError,
  RunAbortedError,
  RunNotFoundError,
  SessionBusyError,
  type SessionKey,
} from '@eventloom/core';
import {
  eventPages,
  isCancelledRequest,
  isPersonRequest,
  isSameJson,
  RunMark,
  stateScopeOf,
  tryParseJson,
} from '@eventloom/core/internal';
import { readConfirmation, unwrapAnswer } from '../answers.ts';
import type { RunRequest } from '../run-request.ts';
import type { Runner } from '../runner.ts';
import type { BegunSession } from '../session-locks.ts';

/** The stored part of a request. */
interface KnownRequest {
  readonly invocationId: string;
  /** The offset of its first event in the run; see `RunStream.offset`. */
  readonly offset: number;
  /** The user events with its message. For a request without a message, the first event that has its id. */
  readonly events: readonly Event[];
}

/** Interval at which the session of a run in another process is read, in milliseconds. */
const READ_EVERY_MS = 500;

/**
 * Refuses a request that continues a run if that run has stored the request already.
 *
 * @throws RequestKnownError
 * @throws RequestReusedError
 */
export async function checkNotKnown(runner: Runner, request: RunRequest, requestId: string): Promise<void> {
  const known = await findRequest(runner.sessionService, request.key, requestId);
  if (known) refuseKnown(request, requestId, known);
}

/** Does the same as `checkNotKnown` in a locked session whose events are read. Does nothing for a request without an id. */
export function checkNotIn(request: RunRequest, { run, loaded }: BegunSession): void {
  const { requestId } = request.config;
  if (requestId === undefined) return;
  const { events, lastSeq } = loaded.session;
  const search = new RequestSearch(run.invocationId, requestId);
  // The list may begin after the first event of the session.
  const first = lastSeq - events.length + 1 - run.firstSeq;
  for (const [index, event] of events.entries()) search.add(event, first + index);
  if (search.found) refuseKnown(request, requestId, search.found);
}

/**
 * Handles a request that the store refused because a run has its id. Returns when the request can be sent to the store
 * again: the process of that run ended, or the run was refused, before the message was stored.
 *
 * @throws RequestKnownError if the message is stored; RequestReusedError if the id has another message
 * @throws RunAbortedError if the request was cancelled
 */
export async function handleKnownRequest(
  runner: Runner,
  request: RunRequest,
  error: RequestKnownError,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  const { sessionService, platform } = runner;
  const { key, start, config } = request;
  const { requestId = '' } = config;
  if (start.kind === 'live') throw error;
  for (;;) {
    const record = await sessionService.findRun({ ...key, id: requestId });
    if (!record) return;
    if (isCancelledRequest(record))
      throw new RunAbortedError(
        `requestId: the request ${JSON.stringify(requestId)} was cancelled before its run began; use a new id for a new message`,
      );
    await checkNotKnown(runner, request, requestId);
    if (requestId === record.invocationId)
      throw new RequestReusedError(
        `requestId: ${JSON.stringify(requestId)} is the id of a run; use another id for the request`,
      );
    if (!record.open || record.open.heldUntilMs <= platform.now()) break;
    // The process of that run is about to store the message.
    await untilFree(sessionService, key, abortSignal);
  }
  await forget(runner, request, error.invocationId, abortSignal);
  // The store would refuse the request again, without end.
  if (await sessionService.findRun({ ...key, id: requestId })) throw error;
}

/** Removes a request from the session if nothing of it is stored. */
async function forget(
  runner: Runner,
  { key, config: { requestId, busyWaitMs } }: RunRequest,
  invocationId: string,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  try {
    const { lock } = await runner.sessions.begin({
      key,
      why: 'because a request of its session was sent again',
      onBusy: 'queue',
      busyWaitMs,
      run: { invocationId, requestId, resumable: false, continues: true },
      abortSignal,
    });
    await lock.withdraw();
  } catch (error) {
    if (!RunNotFoundError.isInstance(error)) throw error;
  }
}

/** Resolves when the session is free, or after `READ_EVERY_MS`. */
export async function untilFree(
  sessionService: BaseSessionService,
  key: SessionKey,
  abortSignal: AbortSignal | undefined,
): Promise<void> {
  const request = { ...key, waitMs: READ_EVERY_MS, abortSignal };
  try {
    await sessionService.releaseLease(await sessionService.acquireLease(request));
  } catch (error) {
    if (!SessionBusyError.isInstance(error)) throw error;
  }
}

/**
 * Returns the stored part of a request; undefined if the request is unknown or nothing of it is stored.
 * @throws SessionNotFoundError if the session is deleted in the meantime
 */
async function findRequest(
  service: BaseSessionService,
  key: SessionKey,
  requestId: string,
): Promise<KnownRequest | undefined> {
  const record = await service.findRun({ ...key, id: requestId });
  if (!record) return undefined;
  const { invocationId, firstSeq } = record;
  const search = new RequestSearch(invocationId, requestId);
  for await (const { seq, events } of eventPages(service, key, { afterSeq: firstSeq - 1 }))
    for (const [index, event] of events.entries()) if (search.add(event, seq + index - firstSeq)) return search.found;
  return search.found;
}

/** Searches the events of a session for the first events of a request. */
class RequestSearch {
  readonly #invocationId: string;
  readonly #requestId: string;
  readonly #events: Event[] = [];
  #offset = 0;
  #isComplete = false;

  constructor(invocationId: string, requestId: string) {
    this.#invocationId = invocationId;
    this.#requestId = requestId;
  }

  get found(): KnownRequest | undefined {
    const events = this.#events;
    return events.length > 0 ? { invocationId: this.#invocationId, offset: this.#offset, events } : undefined;
  }

  /**
   * Adds the next event. Returns true once the request is complete. A message that answers calls on several branches is
   * stored as several consecutive events.
   */
  add(event: Event, offset: number): boolean {
    if (this.#isComplete) return true;
    const [first] = this.#events;
    const isOwn = event.invocationId === this.#invocationId && event.requestId === this.#requestId;
    if (!isOwn || (first && !(isUsers(first) && isUsers(event)))) return (this.#isComplete = first !== undefined);
    if (!first) this.#offset = offset;
    this.#events.push(event);
    return false;
  }
}

function isUsers({ author }: Event): boolean {
  return author === 'user';
}

/**
 * Refuses a known request: with RequestKnownError if it is the same request, otherwise with RequestReusedError. A
 * request is the same if its message, its state delta and the run that it resumes are the same. Its other fields say
 * how it is answered, and may differ.
 */
function refuseKnown({ start, config, stateDelta }: RunRequest, requestId: string, known: KnownRequest): void {
  const { events, invocationId, offset } = known;
  const hasMessage = events.some(isUsers);
  const isOfRun = start.kind !== 'resume' || start.invocationId === invocationId;
  if (!start.message && hasMessage) {
    // A run may be resumed with its own request id.
    if (isOfRun) return;
    throw reusedError(requestId, 'with a message', invocationId);
  }
  if (!isOfRun) throw reusedError(requestId, 'for another run', invocationId);
  if (start.message && !(hasMessage && isSameMessage(start.message, events, config.saveInputBlobsAsArtifacts === true)))
    throw reusedError(requestId, 'with another message', invocationId);
  if (start.message && !isSameDelta(stateDelta, events[0]?.actions.stateDelta ?? {}))
    throw reusedError(requestId, 'with another stateDelta', invocationId);
  throw new RequestKnownError(
    `requestId: ${JSON.stringify(requestId)} is already the id of a request that started or continued the run ${invocationId}; read the events of that run, or use a new id`,
    {
      invocationId,
      offset,
    },
  );
}

function reusedError(requestId: string, how: string, invocationId: string): RequestReusedError {
  return new RequestReusedError(
    `requestId: ${JSON.stringify(requestId)} was already sent ${how}, and started or continued the run ${invocationId}; use a new id, or send the same message, stateDelta and invocationId`,
  );
}

/** Compares the state that a request writes with the stored one, which has no `temp:` keys. */
function isSameDelta(given: Readonly<Record<string, unknown>>, stored: Readonly<Record<string, unknown>>): boolean {
  const kept = Object.entries(given).filter(([key]) => stateScopeOf(key) !== 'temp');
  return isSameJson(Object.fromEntries(kept), stored);
}

/**
 * True if a message equals the stored one. A message that a plugin replaced is not compared. Answers are compared by
 * their ids, in any order, because a message does not name the branches of the calls.
 */
function isSameMessage({ parts = [] }: Content, events: readonly Event[], areBlobsSaved: boolean): boolean {
  if (events.some(({ actions }) => actions.agentState?.[RunMark.isReplaced] === true)) return true;
  const answers = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
  if (answers.length > 0) {
    const all = events.flatMap(getFunctionResponses);
    if (all.length !== answers.length) return false;
    const stored = Map.groupBy(all, ({ id }) => id);
    return answers.every((answer) => {
      const alike = stored.get(answer.id) ?? [];
      const same = alike.find((each) => isSameAnswer(answer, each));
      stored.set(
        answer.id,
        alike.filter((each) => each !== same),
      );
      return same;
    });
  }
  const stored = events.flatMap(({ content }) => content?.parts ?? []);
  const isSaved = (index: number): boolean => areBlobsSaved && parts[index]?.inlineData !== undefined;
  return (
    stored.length === parts.length &&
    parts.every(
      (part, index) => isSameJson(part, stored[index]) || (isSaved(index) && stored[index]?.text !== undefined),
    )
  );
}

/** True if an answer equals a stored one, which has the form that `PersonAnswers.read` returns. */
function isSameAnswer(given: FunctionResponse, stored: FunctionResponse): boolean {
  if (!isPersonRequest(stored))
    return isSameJson({ response: {}, ...given, name: stored.name }, { response: {}, ...stored });
  const { response: answer = {}, id = '' } = given;
  const { expired, ...kept } = stored.response ?? {};
  // No part of a credential, or of input that came too late, is stored.
  if (stored.name === REQUEST_CREDENTIAL || (expired === true && Object.keys(kept).length === 0)) return true;
  if (stored.name !== REQUEST_CONFIRMATION) {
    const { result = answer } = answer;
    const values = [result, answer, typeof result === 'string' ? tryParseJson(result) : undefined];
    return values.some((value) => isSameJson(value, kept['result']));
  }
  try {
    return isSameJson(readConfirmation(unwrapAnswer(answer, id), id), kept);
  } catch (error) {
    if (InvalidMessageError.isInstance(error)) return false;
    throw error;
  }
}
