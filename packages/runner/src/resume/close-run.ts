import {
  type BaseAgent,
  createEvent,
  type Event,
  type EventActions,
  type EventParams,
  EventTag,
  ObjectType,
  type OnBusy,
  type Part,
  RUN_ABANDONED,
  RunAbortedError,
  RunNotFoundError,
  type RunOutcome,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  ABORT_SIGNAL_RULE,
  checkAbortSignal,
  beginsResumableRun,
  type SessionCall,
  Calls,
  closingParams,
  checkOptions,
  checkName,
  createErrorEvent,
  enclosureOf,
  isYielded,
  ledgerCallId,
  openAnswers,
  responseParams,
  outcomeOfEvent,
  type OptionRules,
  mergeEventActions,
  type PluginManager,
} from '@eventloom/core/internal';
import { coveredUntil } from '../event-committer.ts';
import type { Runner } from '../runner.ts';
import type { LoadedSession } from '../session-loader.ts';
import type { SessionLock } from '../session-lock.ts';
import { eventsOfRun } from './resumed-run.ts';

/** Parameters of `Runner.closeRun`. */
export interface CloseRunParams {
  readonly userId: string;
  readonly sessionId: string;
  readonly invocationId: string;
  /** The reason, in the event's `errorMessage`. */
  readonly reason: string;
  /**
   * The attempt to close: `RunStream.attempt`. The run is not closed if the session was locked since, for example because the run was
   * resumed. Default: any attempt.
   */
  readonly attempt?: number | undefined;
  /** Behaviour while another run holds the session; default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** Gives up waiting for the session. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: OptionRules<CloseRunParams> = {
  // Ids are checked as in every method, with InvalidRequestError.
  userId: 'any',
  sessionId: 'any',
  invocationId: 'any',
  reason: { is: 'text', write: "'the user gave up'" },
  attempt: 'number',
  onBusy: { is: 'text', oneOf: ['queue', 'reject', 'interrupt'] },
  abortSignal: ABORT_SIGNAL_RULE,
};

/** Parameters of `Runner.cancelRun`. */
export type CancelRunParams = Omit<CloseRunParams, 'reason'>;

/** The kind of an end that a closed run gets. */
interface Closing {
  /** The code and the message of the error event. */
  readonly code: string;
  readonly reason: string;
  /** True if no message can answer the waiting calls of the run any more. */
  readonly answersWaiting: boolean;
}

/** Closes a run that did not reach its end; see `Runner.closeRun`. */
export async function closeRun(runner: Runner, params: CloseRunParams): Promise<Event | undefined> {
  checkOptions('closeRun', PARAMS, params, {}, 'closeRun({ userId, sessionId, invocationId, reason })');
  checkAbortSignal('closeRun', params.abortSignal);
  return close(runner, params, { code: RUN_ABANDONED, reason: params.reason, answersWaiting: false });
}

/** Ends a run, also one that waits for answers; see `Runner.cancelRun`. */
export async function cancelRun(runner: Runner, params: CancelRunParams): Promise<Event | undefined> {
  const { reason: _, ...rules } = PARAMS;
  checkOptions('cancelRun', rules, params, {}, 'cancelRun({ userId, sessionId, invocationId })');
  checkAbortSignal('cancelRun', params.abortSignal);
  return close(runner, params, { code: RunAbortedError.code, reason: 'the run was cancelled', answersWaiting: true });
}

async function close(runner: Runner, params: CancelRunParams, closing: Closing): Promise<Event | undefined> {
  const { userId, sessionId, invocationId, attempt, onBusy, abortSignal } = params;
  checkName('invocationId', invocationId);
  const begin = async () =>
    runner.sessions.begin({
      key: { appName: runner.appName, userId, sessionId },
      purpose: 'the closing of a run',
      onBusy,
      abortSignal,
      // The run stays open until it is closed: if this process ends first, another one closes it.
      run: { invocationId, resumable: true, continues: true, lastEpoch: attempt },
    });
  const begun = await begin().catch((error: unknown) => {
    if (!RunNotFoundError.isInstance(error)) throw error;
  });
  if (!begun) return undefined;
  const { lock, loaded } = begun;
  let closed: ClosedRun | undefined;
  try {
    closed = await storeClosing(runner, lock, loaded, invocationId, closing);
    return closed.error;
  } finally {
    // Nothing remains of a run whose process ended before it stored anything.
    const isEmpty = (lock.run?.firstSeq ?? 0) > loaded.session.lastSeq;
    if (closed) await lock.unlock(isEmpty ? { forget: [invocationId] } : { outcome: closed.outcome });
    else await lock.unlock({ keepRunOpen: true });
  }
}

/** The result of closing a run. */
interface ClosedRun {
  /** The error event; undefined for a run that had ended already, or that the session does not have. */
  readonly error?: Event | undefined;
  /** The outcome of the run; undefined if its record has it already. */
  readonly outcome?: RunOutcome | undefined;
}

async function storeClosing(
  { agent, appName, platform, pluginManager }: Runner,
  lock: SessionLock,
  { session, derived }: LoadedSession,
  invocationId: string,
  { code, reason, answersWaiting }: Closing,
): Promise<ClosedRun> {
  const { run } = lock;
  const calls = Calls.of(session, derived);
  const events = eventsOfRun(session.events, invocationId);
  const [first] = events;
  const canContinue = calls.canContinue(invocationId);
  // The error event of an open run is its last one, if its process ended after storing it.
  const last = run?.wasOpen ? events.at(-1) : events.findLast(isYielded);
  const outcome = outcomeOfEvent(last);
  // A run that failed may have left waiting calls. Its outcome stays.
  const waiting = answersWaiting && outcome.state !== 'failed' ? calls.waitingIn(invocationId) : [];
  const isOver = !canContinue && waiting.length === 0;
  if (!first || (isOver && !run?.wasOpen)) return {};
  if (isOver && (beginsResumableRun(first) || isAnswered(agent, events, pluginManager))) {
    // The run's process ended between the last event and the release of the session.
    return { outcome: outcomeOfEvent(events.findLast(isYielded)) };
  }
  const covered = coveredUntil(session.events, derived);
  const params = (author: string): EventParams => closingParams(first, author, platform, covered);
  const ending = await responsesToOpenCalls(lock, { session, derived }, invocationId, params, waiting);
  let error = run?.wasOpen && outcome.state !== 'completed' ? last : undefined;
  if (!error) ending.push((error = createErrorEvent(params(appName), code, reason)));
  if (canContinue)
    ending.push(createEvent({ ...params(appName), object: ObjectType.runnerEnd, actions: { endOfAgent: true } }));
  const { id } = error;
  const appends = ending.map((event) => ({ event }));
  const stored = appends.length > 0 ? await lock.appendAll({ session, appends }) : [];
  return { error: stored.find((event) => event.id === id) ?? error, outcome: outcomeOfEvent(error) };
}

/** True if the last event of a run that cannot be resumed is an answer that completes its agent and every agent around it. */
function isAnswered(root: BaseAgent, events: readonly Event[], plugins: PluginManager): boolean {
  const last = events.at(-1);
  if (!last || last.author === 'user' || plugins.has('afterAgentCallback')) return false;
  let agent = enclosureOf(last.branch) === '' ? root.findAgent(last.author) : undefined;
  if (!agent) return false;
  while (agent?.isDoneAfter(last)) agent = agent.parentAgent;
  return agent === undefined;
}

/**
 * Returns events with responses to the calls of a run that have none, so that a model can be called again: one event
 * for the calls of one reply. They are not stored yet.
 *
 * @param params returns the parameters of an event by this author
 * @param cancelled calls that wait for answers, and that no later message can answer
 */
export async function responsesToOpenCalls(
  lock: SessionLock,
  { session, derived }: Pick<LoadedSession, 'session' | 'derived'>,
  invocationId: string,
  params: (author: string) => EventParams,
  cancelled: readonly SessionCall[] = [],
): Promise<Event[]> {
  const calls = Calls.of(session, derived);
  const toAnswer = new Set([...calls.open(invocationId), ...calls.unsettled(invocationId), ...cancelled]);
  // A call that a person was asked about is recorded in the run of the answer.
  const answers = [...toAnswer].flatMap(openAnswers);
  const entries = new Map<string, ToolLedgerEntry>();
  const runs = new Set([...toAnswer].map(({ event }) => event.invocationId));
  for (const { event } of answers) runs.add(event.invocationId);
  for (const run of runs) for (const entry of await lock.listToolCalls(run)) entries.set(entry.callId, entry);
  const events: Event[] = [];
  for (const [asking, made] of Map.groupBy(toAnswer, ({ event }) => event)) {
    const answer = answerCalls(made, entries, cancelled);
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
): Pick<EventParams, 'content' | 'actions' | 'tags'> | undefined {
  const parts: Part[] = [];
  const changes: Partial<EventActions>[] = [];
  for (const call of calls) {
    const isCancelled = cancelled.includes(call);
    const entry = isCancelled ? undefined : entryOf(call, ledger);
    const isFinished = entry?.status === 'finished';
    if (isFinished && !entry.response) continue;
    parts.push({
      functionResponse: {
        id: call.id,
        name: call.call.name ?? '',
        response: { ...(isCancelled ? CANCELLED : (entry?.response ?? interrupted(entry))) },
        ...(entry?.parts ? { parts: [...entry.parts] } : {}),
      },
    });
    if (isFinished && entry.actions) changes.push(changesOf(entry.actions));
  }
  if (parts.length === 0) return undefined;
  const tags = calls.some((call) => cancelled.includes(call)) ? { tags: [EventTag.cancelled] } : {};
  return { content: { role: 'user', parts }, actions: mergeEventActions(changes), ...tags };
}

const CANCELLED = { error: 'cancelled', message: 'The run was cancelled while it waited for an answer.' };

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
    ? 'The call was interrupted when its run was ended. It may or may not have had its effect.'
    : 'The run was ended before the call began.';
  return { error: 'interrupted', message };
}

/** Returns the changes that a call made to state and artifacts, without its control signals. */
function changesOf({ stateDelta, removedState, artifactDelta }: Partial<EventActions>): Partial<EventActions> {
  return {
    ...(stateDelta ? { stateDelta } : {}),
    ...(removedState ? { removedState } : {}),
    ...(artifactDelta ? { artifactDelta } : {}),
  };
}
