import {
  type BaseAgent,
  createEvent,
  type Event,
  type EventActions,
  type EventParams,
  ObjectType,
  type OnBusy,
  type Part,
  RUN_ABANDONED,
  RunNotFoundError,
  type RunOutcome,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  ABORT_SIGNAL_RULE,
  checkAbortSignal,
  afterCovered,
  beginsResumableRun,
  type RecordedCall,
  Calls,
  checkOptions,
  checkName,
  createErrorEvent,
  enclosureOf,
  isYielded,
  ledgerCallId,
  openAnswers,
  outcomeOfEvent,
  type OptionRules,
  mergeEventActions,
  type PluginManager,
} from '@eventloom/core/internal';
import { coveredUntil } from '../event-committer.ts';
import type { Runner } from '../runner.ts';
import type { LoadedSession } from '../session-loader.ts';
import type { SessionLock } from '../session-lock.ts';
import { eventsOfRun } from './resume-invocation.ts';

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

/** Closes a run that did not reach its end; see `Runner.closeRun`. */
export async function closeRun(runner: Runner, params: CloseRunParams): Promise<Event | undefined> {
  checkParams(params);
  const { userId, sessionId, invocationId, reason, attempt, onBusy, abortSignal } = params;
  const begin = async () =>
    runner.sessions.begin({
      key: { appName: runner.appName, userId, sessionId },
      purpose: 'the closing of a run',
      onBusy,
      abortSignal,
      // The run stays open until it is closed: if this process ends first, another one closes it.
      run: { invocationId, resumable: true, continues: true, lastEpoch: attempt },
      invocationId,
    });
  const begun = await begin().catch((error: unknown) => {
    if (!RunNotFoundError.isInstance(error)) throw error;
  });
  if (!begun) return undefined;
  const { lock, loaded } = begun;
  let closed: ClosedRun | undefined;
  try {
    closed = await storeClosing(runner, lock, loaded, invocationId, reason);
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
  reason: string,
): Promise<ClosedRun> {
  const { run } = lock;
  const calls = Calls.of(session, derived);
  const events = eventsOfRun(session.events, invocationId);
  const [first] = events;
  const canContinue = calls.canContinue(invocationId);
  if (!first || (!canContinue && !run?.wasOpen)) return {};
  if (!canContinue && (beginsResumableRun(first) || isAnswered(agent, events, pluginManager))) {
    // The run's process ended between the last event and the release of the session.
    return { outcome: outcomeOfEvent(events.findLast(isYielded)) };
  }
  const { requestId, customMetadata } = first;
  const covered = coveredUntil(session.events, derived);
  const params = (author: string): EventParams => ({
    id: platform.newEventId(),
    invocationId,
    executionId: invocationId,
    author,
    timestamp: afterCovered(platform.now() / 1000, covered),
    ...(requestId === undefined ? {} : { requestId }),
    ...(customMetadata === undefined ? {} : { customMetadata }),
  });
  const append = async (event: Event): Promise<Event> => lock.append(session, event);
  for (const answer of await responsesToOpenCalls(lock, { session, derived }, invocationId, params))
    await append(answer);
  // A process that ended while it stored the end of the run may have stored the error event already.
  const last = events.at(-1);
  const error =
    events.find(({ errorCode }) => errorCode === RUN_ABANDONED) ??
    (outcomeOfEvent(last).state === 'completed' ? undefined : last) ??
    (await append(createErrorEvent(params(appName), RUN_ABANDONED, reason)));
  if (canContinue)
    await append(createEvent({ ...params(appName), object: ObjectType.runnerEnd, actions: { endOfAgent: true } }));
  return { error, outcome: outcomeOfEvent(error) };
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
 */
export async function responsesToOpenCalls(
  lock: SessionLock,
  { session, derived }: Pick<LoadedSession, 'session' | 'derived'>,
  invocationId: string,
  params: (author: string) => EventParams,
): Promise<Event[]> {
  const calls = Calls.of(session, derived);
  const toAnswer = new Set([...calls.open(invocationId), ...calls.unsettled(invocationId)]);
  // A call that a person was asked about is recorded in the run of the answer.
  const answers = [...toAnswer].flatMap(openAnswers);
  const entries = new Map<string, ToolLedgerEntry>();
  const runs = new Set([...toAnswer].map(({ event }) => event.invocationId));
  for (const { event } of answers) runs.add(event.invocationId);
  for (const run of runs) for (const entry of await lock.listToolCalls(run)) entries.set(entry.callId, entry);
  const events: Event[] = [];
  for (const [asking, made] of Map.groupBy(toAnswer, ({ event }) => event)) {
    const answer = answerCalls(made, entries);
    if (!answer) continue;
    const { author, branch } = asking;
    // In a run that was started by an answer, the agent of the call is the run's own agent.
    const { executionId, parentExecutionId }: Partial<Event> = asking.invocationId === invocationId ? asking : {};
    events.push(
      createEvent({
        ...params(author),
        ...answer,
        ...(branch === undefined ? {} : { branch }),
        ...(executionId === undefined ? {} : { executionId }),
        ...(parentExecutionId === undefined ? {} : { parentExecutionId }),
      }),
    );
  }
  return events;
}

/**
 * Returns responses to these calls of one reply, so that a model can be called again: the ledger's response for a
 * finished call, otherwise a response that the call was interrupted. A finished call without a response in the ledger
 * stays open: its response comes later, and is answered in a new run. Undefined if all calls stay open.
 */
function answerCalls(
  calls: readonly RecordedCall[],
  ledger: ReadonlyMap<string, ToolLedgerEntry>,
): Pick<EventParams, 'content' | 'actions'> | undefined {
  const parts: Part[] = [];
  const changes: Partial<EventActions>[] = [];
  for (const call of calls) {
    const entry = entryOf(call, ledger);
    const isFinished = entry?.status === 'finished';
    if (isFinished && !entry.response) continue;
    parts.push({
      functionResponse: {
        id: call.id,
        name: call.call.name ?? '',
        response: { ...(entry?.response ?? interrupted(entry)) },
        ...(entry?.parts ? { parts: [...entry.parts] } : {}),
      },
    });
    if (isFinished && entry.actions) changes.push(changesOf(entry.actions));
  }
  return parts.length > 0 ? { content: { role: 'user', parts }, actions: mergeEventActions(changes) } : undefined;
}

/**
 * Returns the ledger's entry of a call. A call that ran after a person's answer is recorded under the event of that answer. Its entry under
 * the event that made the call is then about the first response, which only reports that the call waits.
 */
function entryOf(call: RecordedCall, ledger: ReadonlyMap<string, ToolLedgerEntry>): ToolLedgerEntry | undefined {
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

function checkParams(params: CloseRunParams): void {
  checkOptions('closeRun', PARAMS, params, {}, 'closeRun({ userId, sessionId, invocationId, reason })');
  checkAbortSignal('closeRun', params.abortSignal);
  checkName('invocationId', params.invocationId);
}
