import {
  createEvent,
  type Event,
  type EventActions,
  type EventParams,
  EventTag,
  type Part,
  SizeLimitError,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  type SessionCall,
  Calls,
  enclosureOf,
  ledgerCallId,
  openAnswers,
  responseParams,
  mergeEventActions,
} from '@eventloom/core/internal';
import type { LoadedSession } from './session-loader.ts';
import type { SessionLock } from './session-lock.ts';

/**
 * Stores responses to the calls of a run that have none. If the results of finished calls are too large for the session, its responses say
 * so, because a call without a response would keep the run open.
 *
 * @param store stores the responses, with or without the results; called a second time without them
 */
export async function storeResponses<T>(store: (refused: SizeLimitError | undefined) => Promise<T>): Promise<T> {
  try {
    return await store(undefined);
  } catch (error) {
    if (!SizeLimitError.isInstance(error)) throw error;
    return store(error);
  }
}

/**
 * Returns events with responses to the calls of a run that have none, so that a model can be called again: one event
 * for the calls of one reply. They are not stored yet.
 *
 * @param params returns the parameters of an event by this author
 * @param cancelled calls that wait for answers, and that no later message can answer
 * @param refused the error with which the session refused the results of finished calls; the responses then have it instead of the results
 * @param enclosure the branch of an agent that was called as a tool: only its own calls are answered. Default: all calls of the run
 */
export async function responsesToOpenCalls(
  lock: SessionLock,
  { session, derived }: Pick<LoadedSession, 'session' | 'derived'>,
  invocationId: string,
  params: (author: string) => EventParams,
  cancelled: readonly SessionCall[] = [],
  refused?: SizeLimitError,
  enclosure?: string,
): Promise<Event[]> {
  const calls = Calls.of(session, derived);
  const open = [...calls.open(invocationId), ...calls.unsettled(invocationId)];
  const isOwn = ({ event }: SessionCall): boolean => enclosure === undefined || enclosureOf(event.branch) === enclosure;
  const toAnswer = new Set([...open.filter(isOwn), ...cancelled]);
  // A call that a person was asked about is recorded in the run of the answer.
  const answers = [...toAnswer].flatMap(openAnswers);
  const entries = new Map<string, ToolLedgerEntry>();
  const runs = new Set([...toAnswer].map(({ event }) => event.invocationId));
  for (const { event } of answers) runs.add(event.invocationId);
  for (const run of runs) for (const entry of await lock.listToolCalls(run)) entries.set(entry.callId, entry);
  const events: Event[] = [];
  for (const [asking, made] of Map.groupBy(toAnswer, ({ event }) => event)) {
    const answer = answerCalls(made, entries, cancelled, refused);
    if (!answer) continue;
    events.push(createEvent({ ...params(asking.author), ...answer, ...responseParams(asking, invocationId) }));
  }
  return events;
}

/**
 * Returns responses to these calls of one reply, so that a model can be called again: the ledger's response for a
 * finished call, otherwise a response that the call was interrupted. A finished call without a response in the ledger
 * stays open: its response comes later, and is answered in a new run. Undefined if all calls stay open.
 */
function answerCalls(
  calls: readonly SessionCall[],
  ledger: ReadonlyMap<string, ToolLedgerEntry>,
  cancelled: readonly SessionCall[],
  refused: SizeLimitError | undefined,
): Pick<EventParams, 'content' | 'actions' | 'tags'> | undefined {
  const parts: Part[] = [];
  const changes: Partial<EventActions>[] = [];
  for (const call of calls) {
    const isCancelled = cancelled.includes(call);
    const entry = isCancelled ? undefined : entryOf(call, ledger);
    const isFinished = entry?.status === 'finished';
    if (isFinished && !entry.response) continue;
    const kept = refused ? undefined : entry;
    const result = refused && isFinished ? notStored(refused) : (entry?.response ?? interrupted(entry));
    parts.push({
      functionResponse: {
        id: call.id,
        name: call.call.name ?? '',
        response: { ...(isCancelled ? CANCELLED : result) },
        ...(kept?.parts ? { parts: [...kept.parts] } : {}),
      },
    });
    if (isFinished && kept?.actions) changes.push(changesOf(kept.actions));
  }
  if (parts.length === 0) return undefined;
  const tags = calls.some((call) => cancelled.includes(call)) ? { tags: [EventTag.cancelled] } : {};
  return { content: { role: 'user', parts }, actions: mergeEventActions(changes), ...tags };
}

/** True for a call of an agent that was called as a tool, or that is a node of a graph. It takes no answer once its run has ended. */
export function isEnclosed({ event }: SessionCall): boolean {
  return enclosureOf(event.branch) !== '';
}

const CANCELLED = { error: 'cancelled', message: 'The run or the agent ended while the call waited for an answer.' };

/**
 * Returns the ledger's entry of a call. A call that ran after a person's answer is recorded under the event of that answer. Its entry under
 * the event that made the call is then about the first response, which only reports that the call waits.
 */
function entryOf(call: SessionCall, ledger: ReadonlyMap<string, ToolLedgerEntry>): ToolLedgerEntry | undefined {
  const answers = openAnswers(call);
  const starts = call.responses.length > 0 ? answers : [...answers, call];
  const [newest] = starts.flatMap(({ event }) => ledger.get(ledgerCallId(event.id, call.call)) ?? []);
  return newest;
}

function interrupted(entry: ToolLedgerEntry | undefined): Record<string, unknown> {
  const message = entry
    ? 'The call was interrupted when its run or its agent ended. It may or may not have had its effect.'
    : 'The run or the agent ended before the call began.';
  return { error: 'interrupted', message };
}

function notStored({ publicMessage }: SizeLimitError): Record<string, unknown> {
  return { error: 'not_stored', message: `The call ran, but its result could not be stored: ${publicMessage}` };
}

/** Returns the changes that a call made to state and artifacts, without its control signals. */
function changesOf({ stateDelta, removedState, artifactDelta }: Partial<EventActions>): Partial<EventActions> {
  return {
    ...(stateDelta ? { stateDelta } : {}),
    ...(removedState ? { removedState } : {}),
    ...(artifactDelta ? { artifactDelta } : {}),
  };
}
