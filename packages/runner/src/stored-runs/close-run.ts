import {
  type BaseAgent,
  createEvent,
  type Event,
  type EventParams,
  ObjectType,
  type OnBusy,
  RUN_ABANDONED,
  RunAbortedError,
  RunNotFoundError,
  type RunOutcome,
} from '@eventloom/core';
import {
  ABORT_SIGNAL_RULE,
  beginsResumableRun,
  Calls,
  closingParams,
  checkOptions,
  checkName,
  createErrorEvent,
  enclosureOf,
  isYielded,
  outcomeOfEvent,
  type OptionRules,
  type PluginManager,
} from '@eventloom/core/internal';
import { storeLastResponses } from '../last-responses.ts';
import type { Runner } from '../runner.ts';
import { coveredUntil } from '../session-loader.ts';
import type { BegunSession } from '../session-locks.ts';
import { eventsOfRun } from './resumed-run.ts';

/** Parameters of `Runner.closeRun`. */
export interface CloseRunParams {
  readonly userId: string;
  readonly sessionId: string;
  readonly invocationId: string;
  /** The reason, in the event's `errorMessage`. */
  readonly reason: string;
  /**
   * The attempt to close: `RunBeginning.attempt`. The run is not closed if the session was locked since, for example because the run was
   * resumed. Default: any attempt.
   *
   * @internal
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
  readonly cancelsWaiting: boolean;
}

/** Closes a run that did not reach its end; see `Runner.closeRun`. */
export async function closeRun(runner: Runner, params: CloseRunParams): Promise<Event | undefined> {
  checkOptions('closeRun', PARAMS, params, {}, 'closeRun({ userId, sessionId, invocationId, reason })');
  return close(runner, params, { code: RUN_ABANDONED, reason: params.reason, cancelsWaiting: false });
}

/** Ends a run, also one that waits for answers; see `Runner.cancelRun`. */
export async function cancelRun(runner: Runner, params: CancelRunParams): Promise<Event | undefined> {
  const { reason: _, ...rules } = PARAMS;
  checkOptions('cancelRun', rules, params, {}, 'cancelRun({ userId, sessionId, invocationId })');
  return close(runner, params, { code: RunAbortedError.code, reason: 'the run was cancelled', cancelsWaiting: true });
}

async function close(runner: Runner, params: CancelRunParams, closing: Closing): Promise<Event | undefined> {
  const { userId, sessionId, invocationId, attempt, onBusy, abortSignal } = params;
  checkName('invocationId', invocationId);
  const begin = async () =>
    runner.sessions.begin({
      key: { appName: runner.appName, userId, sessionId },
      why: 'because a run of its session was cancelled or closed',
      closes: true,
      onBusy,
      abortSignal,
      // The run stays open until it is closed: if this process ends first, another one closes it.
      run: { invocationId, resumable: true, continues: true, lastEpoch: attempt },
    });
  const begun = await begin().catch((error: unknown) => {
    if (!RunNotFoundError.isInstance(error)) throw error;
  });
  if (!begun) return undefined;
  const { lock, run, loaded } = begun;
  let closed: ClosedRun | undefined;
  try {
    closed = await storeClosing(runner, begun, closing);
    return closed.error;
  } finally {
    // Nothing remains of a run whose process ended before it stored anything.
    const isEmpty = run.firstSeq > loaded.session.lastSeq;
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
  { lock, run, loaded }: BegunSession,
  { code, reason, cancelsWaiting }: Closing,
): Promise<ClosedRun> {
  const { invocationId, wasOpen } = run;
  const { session } = loaded;
  const calls = Calls.of(loaded);
  const events = eventsOfRun(session.events, invocationId);
  const [first] = events;
  const canContinue = calls.canContinue(invocationId);
  // The error event of an open run is its last one, if its process ended after storing it.
  const last = wasOpen ? events.at(-1) : events.findLast(isYielded);
  const outcome = outcomeOfEvent(last);
  // A run that failed may have left waiting calls. Its outcome stays.
  const waiting = calls.waitingIn(invocationId);
  const isCancelling = cancelsWaiting && outcome.state !== 'failed';
  const hasEnded = !canContinue && !(isCancelling && waiting.length > 0);
  if (!first || (hasEnded && !wasOpen)) return {};
  if (hasEnded && (beginsResumableRun(first) || hasFinalReply(agent, events, pluginManager))) {
    // The run's process ended between the last event and the release of the session.
    return { outcome: outcomeOfEvent(events.findLast(isYielded)) };
  }
  const covered = coveredUntil(loaded);
  const params = (author: string): EventParams => closingParams(first, author, platform, covered);
  const how = isCancelling ? 'cancelled' : 'failed';
  const ended = { lock, loaded, invocationId, root: agent, how, params } as const;
  const error = await storeLastResponses(ended, async (ending) => {
    // A run that was aborted keeps its end, also if its waiting calls are cancelled later.
    let end = outcome.state === 'completed' ? undefined : last;
    if (!end) ending.push((end = createErrorEvent(params(appName), code, reason)));
    if (canContinue)
      ending.push(createEvent({ ...params(appName), object: ObjectType.runnerEnd, actions: { endOfAgent: true } }));
    const { id } = end;
    const appends = ending.map((event) => ({ event }));
    const stored = appends.length > 0 ? await lock.appendAll({ session, appends }) : [];
    return stored.find((event) => event.id === id) ?? end;
  });
  return { error, outcome: outcomeOfEvent(error) };
}

/** True if the last event of a run that cannot be resumed is a reply that completes its agent and every agent around it. */
function hasFinalReply(root: BaseAgent, events: readonly Event[], plugins: PluginManager): boolean {
  const last = events.at(-1);
  if (!last || last.author === 'user' || plugins.has('afterAgentCallback')) return false;
  let agent = enclosureOf(last.branch) === '' ? root.findAgent(last.author) : undefined;
  if (!agent) return false;
  while (agent?.isDoneAfter(last)) agent = agent.parentAgent;
  return agent === undefined;
}
