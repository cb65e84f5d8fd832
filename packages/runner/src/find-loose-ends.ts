import { type BaseSessionService, getFunctionResponses, InvalidRequestError, type SessionKey } from '@eventloom/core';
import {
  type SessionCall,
  Calls,
  describeKind,
  enclosureOf,
  isPersonRequest,
  newestFirst,
  answersToUnsettled,
  openRuns,
  readNewest,
} from '@eventloom/core/internal';
import { isCallerDone } from './last-responses.ts';

/** A fault that `findLooseEnds` reports: a run or a call without its end, or with more than one, or a response without its call. */
export type LooseEnd =
  /** A run without an end: it is in flight, or its process died. A run that waits for an answer does not count. */
  | { readonly kind: 'run-without-end'; readonly invocationId: string }
  /**
   * A call without a response that nobody gives it any more. A long-running call does not count, because its response
   * comes later, unless an agent made it that was called as a tool, or that is a node of a graph, and that agent, an
   * agent around it, or its run has ended.
   */
  | { readonly kind: 'call-without-response'; readonly invocationId: string; readonly callId: string }
  /** A response in an event of the run, and no call before it that it belongs to. */
  | { readonly kind: 'response-without-call'; readonly invocationId: string; readonly callId: string }
  /**
   * A call with more responses than it can have: one, or two for a request to a person. A call that people were asked
   * about may have one more for each request, which says that it waits. A long-running call takes any number.
   */
  | {
      readonly kind: 'repeated-response';
      readonly invocationId: string;
      readonly callId: string;
      readonly responses: number;
    };

/**
 * Checks that a session has no loose ends: each run has its end, each call has exactly one response, and each response
 * has its call. Reads all of the session's events and the app's open runs. Rewound events do not count. An active run
 * of the session is listed too, without its calls.
 *
 * @throws InvalidRequestError for a value that is not a session service
 * @throws SessionNotFoundError
 */
export async function findLooseEnds(
  service: Pick<BaseSessionService, 'listEvents' | 'listOpenRuns'>,
  key: SessionKey,
): Promise<LooseEnd[]> {
  if (typeof service?.listOpenRuns !== 'function' || typeof service.listEvents !== 'function')
    throw new InvalidRequestError(
      `findLooseEnds: expected a session service, got ${describeKind(service)}; write findLooseEnds(sessionService, { appName, userId, sessionId })`,
    );
  const events = await readNewest(service, key, () => false);
  const calls = new Calls(events);
  const open = new Set<string>();
  for await (const run of openRuns(service, key.appName))
    if (run.userId === key.userId && run.sessionId === key.sessionId) open.add(run.invocationId);
  const runs = new Set(events.map(({ invocationId }) => invocationId));
  for (const run of runs) if (calls.canContinue(run) && !calls.isRunWaiting(run)) open.add(run);
  const ends: LooseEnd[] = Array.from(open, (invocationId) => ({ kind: 'run-without-end', invocationId }));
  for (const invocationId of runs) {
    if (open.has(invocationId)) continue;
    for (const call of calls.unfinished(invocationId)) {
      // The run of the answer may still respond.
      const isUnderWay = answersToUnsettled(call).some(({ event }) => open.has(event.invocationId));
      if (!isUnderWay) ends.push({ kind: 'call-without-response', invocationId, callId: call.id });
    }
  }
  for (const call of calls.waiting) {
    const { invocationId } = call.event;
    if (!open.has(invocationId) && isUnanswerable(calls, call))
      ends.push({ kind: 'call-without-response', invocationId, callId: call.id });
  }
  for (const event of [...newestFirst(events)].reverse()) {
    const answered = new Set(calls.respondedIn(event).map(({ id }) => id));
    for (const { id = '', name = '' } of getFunctionResponses(event)) {
      const callId = id || name;
      if (!answered.has(callId)) ends.push({ kind: 'response-without-call', invocationId: event.invocationId, callId });
    }
  }
  for (const call of new Set(events.flatMap((event) => calls.madeIn(event)))) {
    const { length } = call.responses;
    if (length > mostResponses(call))
      ends.push({
        kind: 'repeated-response',
        invocationId: call.event.invocationId,
        callId: call.id,
        responses: length,
      });
  }
  return ends;
}

/** True for a waiting call that no message can answer. */
function isUnanswerable(calls: Calls, call: SessionCall): boolean {
  const { branch, invocationId } = call.event;
  if (call.isImported || enclosureOf(branch) === '') return false;
  return !calls.canContinue(invocationId) || isCallerDone(calls, call);
}

function mostResponses({ call, isLongRunning, requests }: SessionCall): number {
  const isRequest = isPersonRequest(call);
  if (isLongRunning && !isRequest) return Infinity;
  return isRequest ? 2 : requests.length + 1;
}
