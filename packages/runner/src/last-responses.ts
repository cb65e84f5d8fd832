import {
  type BaseAgent,
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
  isOfWorkflowNode,
  ledgerEntryId,
  answersToUnsettled,
  responseAtEnd,
  stateOf,
  mergeEventActions,
} from '@eventloom/core/internal';
import { takesLateAnswers } from './pick-agent.ts';
import type { LoadedSession } from './session-loader.ts';
import type { SessionLock } from './session-lock.ts';

/**
 * The run or the agent (one that a tool or a graph ran) that ends, or the run that begins to wait, with what is needed to
 * respond to its calls.
 */
export interface Ended {
  readonly lock: SessionLock;
  readonly loaded: Pick<LoadedSession, 'session' | 'derived'>;
  readonly invocationId: string;
  /** The root of the tree of agents. */
  readonly root: BaseAgent;
  /** The branch of the agent. Default: the whole run ended. */
  readonly branch?: string | undefined;
  /** The kind of its end. `waits`: the run has no end yet, and waits for an answer. */
  readonly how: 'completed' | 'failed' | 'cancelled' | 'waits';
  /** Returns the parameters of an event by this author. */
  readonly params: (author: string) => EventParams;
}

/**
 * Stores a response for each call that has none when a run or an agent ends: see `callsToRespondTo`. If the results of finished calls are
 * too large for the session, the responses say so, because a call without a response would keep the run open.
 *
 * @param store stores the events, one for the calls of each reply; called a second time, without the results, if they are too large
 */
export async function storeLastResponses<T>(ended: Ended, store: (responses: Event[]) => Promise<T>): Promise<T> {
  try {
    return await store(await lastResponses(ended));
  } catch (error) {
    if (!SizeLimitError.isInstance(error)) throw error;
    return store(await lastResponses(ended, error));
  }
}

/** Calls that nobody responds to any more. */
export interface CallsToRespondTo {
  readonly all: ReadonlySet<SessionCall>;
  /** Calls that wait for a client or a person, whose answer would come too late. */
  readonly cancelled: ReadonlySet<SessionCall>;
}

/**
 * Returns the calls that get a response when a run or an agent ends. The only place that decides which calls can still be
 * answered. A run that begins to wait responds to the calls of agents whose tool has returned (`isCallerDone`):
 *
 * | call                                          | agent ended | run ended               | run cancelled |
 * | --------------------------------------------- | ----------- | ----------------------- | ------------- |
 * | runs, was interrupted, or was decided         | answered    | answered                | answered      |
 * | waits, in an agent that a tool or a graph ran | cancelled   | cancelled               | cancelled     |
 * | waits, in a graph or a workflow               |             | cancelled               | cancelled     |
 * | waits, elsewhere                              |             | a later message answers | cancelled     |
 */
export function callsToRespondTo(
  calls: Calls,
  { invocationId, root, branch = '', how }: Pick<Ended, 'invocationId' | 'root' | 'branch' | 'how'>,
): CallsToRespondTo {
  const isWithin = (call: SessionCall): boolean =>
    how === 'waits'
      ? isCallerDone(calls, call)
      : branch === '' || `${call.event.branch ?? ''}.`.startsWith(`${branch}.`);
  const waiting = calls.waitingIn(invocationId).filter(isWithin);
  const cancelled = new Set(
    how === 'cancelled'
      ? waiting
      : waiting.filter(
          ({ event }) =>
            enclosureOf(event.branch) !== '' || isOfWorkflowNode(event) || !takesLateAnswers(root, event.author),
        ),
  );
  const running = [...calls.unanswered(invocationId), ...calls.decided(invocationId)].filter(isWithin);
  return { all: new Set([...running, ...cancelled]), cancelled };
}

/**
 * True for a call of an agent that a tool ran, or of an agent within it, if that tool call has its result: nobody continues the agent.
 * Graph nodes make no calls, so calls of an agent in a node never count.
 */
export function isCallerDone(calls: Calls, call: SessionCall): boolean {
  return calls.enclosing(call).some((around) => stateOf(around) === 'done');
}

/**
 * @param refused the error with which the session refused the results of finished calls; the responses then have it
 * instead of the results
 */
async function lastResponses(ended: Ended, refused?: SizeLimitError): Promise<Event[]> {
  const { lock, loaded } = ended;
  const left = callsToRespondTo(Calls.of(loaded), ended);
  // A call that a person was asked about is recorded in the run of the answer.
  const answers = [...left.all].flatMap(answersToUnsettled);
  const entries = new Map<string, ToolLedgerEntry>();
  const runs = new Set([...left.all, ...answers].map(({ event }) => event.invocationId));
  for (const run of runs) for (const entry of await lock.listToolCalls(run)) entries.set(entry.entryId, entry);
  return respondTo(left, ended, { entries, refused });
}

/** The results that these calls get. */
interface LastResults {
  /** The calls that have begun, by `ledgerEntryId`. */
  readonly entries: ReadonlyMap<string, ToolLedgerEntry>;
  /** The response to calls without a result. Default: that of `responseAtEnd`. */
  readonly interrupted?: Readonly<Record<string, unknown>>;
  /** The error with which the session refused the results of finished calls. */
  readonly refused?: SizeLimitError | undefined;
}

/** Creates the responses to calls that are left, one event for the calls of each reply. */
export function respondTo(
  { all, cancelled }: CallsToRespondTo,
  { invocationId, how, params }: Pick<Ended, 'invocationId' | 'how' | 'params'>,
  results: LastResults,
): Event[] {
  const events: Event[] = [];
  for (const [asking, made] of Map.groupBy(all, ({ event }) => event)) {
    const parts = made.flatMap((call) => noticeOf(call, results.entries));
    const notice = parts.length > 0 ? { content: { role: 'user', parts } } : undefined;
    for (const fields of [notice, respondToCalls(made, cancelled, how, results)])
      if (fields)
        events.push(createEvent({ ...params(asking.author), ...fields, ...responseParams(asking, invocationId) }));
  }
  return events;
}

/**
 * Returns responses to these calls of one reply, so that a model can be called again: the ledger's response for a
 * finished call, otherwise a response that the call was interrupted. A finished call without a response in the ledger
 * stays open: its response comes later, and is answered in a new run. Undefined if all calls stay open.
 */
function respondToCalls(
  calls: readonly SessionCall[],
  cancelled: ReadonlySet<SessionCall>,
  how: Ended['how'],
  { entries, interrupted, refused }: LastResults,
): Pick<EventParams, 'content' | 'actions' | 'tags'> | undefined {
  const parts: Part[] = [];
  const changes: Partial<EventActions>[] = [];
  for (const call of calls) {
    const isCancelled = cancelled.has(call);
    const entry = isCancelled ? undefined : entryOf(call, entries);
    const isFinished = entry?.status === 'finished';
    const response = isFinished ? responseAtEnd(entry) : (interrupted ?? responseAtEnd(entry));
    if (!response) continue;
    // A call that no tool of the runtime ran: somebody else responds later.
    if (how === 'completed' && !isCancelled && !entry && call.isLongRunning) continue;
    const kept = refused ? undefined : entry;
    const result = refused && isFinished ? notStored(refused) : response;
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
  const tags = calls.some((call) => cancelled.has(call)) ? { tags: [EventTag.cancelled] } : {};
  return { content: { role: 'user', parts }, actions: mergeEventActions(changes), ...tags };
}

const CANCELLED = { error: 'cancelled', message: 'The run or the agent ended while the call waited for an answer.' };

/**
 * Returns the first response of a call that a person was asked about and answered, which only reports that the call
 * waits, if the process ended before it was stored. Without it, the result would count as this report.
 */
function noticeOf(call: SessionCall, entries: ReadonlyMap<string, ToolLedgerEntry>): Part[] {
  if (call.responses.length > 0 || answersToUnsettled(call).length === 0) return [];
  const { response = { error: 'This tool call waits for a person.' } } =
    entries.get(ledgerEntryId(call.event.id, call.call)) ?? {};
  return [{ functionResponse: { id: call.id, name: call.call.name ?? '', response: { ...response } } }];
}

/**
 * Returns the ledger's entry of a call. A call that ran after a person's answer is recorded under the event of that answer. Its entry under
 * the event that made the call is then about the first response, which only reports that the call waits.
 */
function entryOf(call: SessionCall, entries: ReadonlyMap<string, ToolLedgerEntry>): ToolLedgerEntry | undefined {
  const answers = answersToUnsettled(call);
  const starts = answers.length > 0 || call.responses.length > 0 ? answers : [call];
  const [newest] = starts.flatMap(({ event }) => entries.get(ledgerEntryId(event.id, call.call)) ?? []);
  return newest;
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

/**
 * Returns the parameters that an event with responses has from the event that made the calls: its branch, and its execution unless another
 * run answers. In a run that an answer started, the agent of the call is the run's root agent.
 */
function responseParams(asking: Event, answeringRun: string): EventParams {
  const { executionId, parentExecutionId }: Partial<Event> = asking.invocationId === answeringRun ? asking : {};
  return {
    ...(asking.branch === undefined ? {} : { branch: asking.branch }),
    ...(executionId === undefined ? {} : { executionId }),
    ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
  };
}
