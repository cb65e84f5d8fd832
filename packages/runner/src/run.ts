import {
  ConfigurationError,
  type Event,
  type EventloomError,
  InvalidMessageError,
  InvalidRequestError,
  type LeaveOpen,
  RunAbortedError,
  ShuttingDownError,
  StreamingMode,
} from '@eventloom/core';
import { startOperation } from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import { compactSession } from './compact-session.ts';
import { createInvocation } from './create-invocation.ts';
import type { RunControl } from './run-control.ts';
import { completionEvent, isUnrecordable, notifyPlugins, storeFailure, toRunError } from './run-failure.ts';
import { type LockedRun, lockForRun, replayedEvents } from './lock-run.ts';
import { pickAgent } from './pick-agent.ts';
import { matchMessage, replaceMessage, storeMessage } from './run-message.ts';
import { parseRunRequest, type RunInput } from './run-start.ts';
import type { Runner } from './runner.ts';

/**
 * How a run ended: `refused` (it cannot be what the caller asked for; nothing was written), `completed` (it is done, or waits for an answer),
 * `failed` (and the session says so), `interrupted` (aborted, or its reader left) or `unrecorded` (it failed, and the session does not say so).
 */
type RunOutcome = 'refused' | 'completed' | 'failed' | 'interrupted' | 'unrecorded';

/** Errors of a request, and not of the run that it names. */
const REFUSALS = [InvalidMessageError, InvalidRequestError, ConfigurationError, RunAbortedError];

/**
 * One run, from its parameters to the release of its session: lock the session, decide what the run continues, store the message,
 * drive the agent, store the end, unlock. The only code that drives an agent and commits what it yields.
 *
 * Throws before anything is written: ConfigurationError, InvalidMessageError, InvalidRequestError, StateKeyError, StateValueError,
 * SessionNotFoundError, SessionBusyError. Later: RunAbortedError, StaleWriterError, or the agent's error after its error event.
 */
export async function* run(
  runner: Runner,
  input: RunInput,
  control: RunControl,
): AsyncGenerator<Event, void, undefined> {
  let locked: LockedRun | undefined;
  let outcome: RunOutcome = 'unrecorded';
  let wantsCompletion = input.params?.runConfig?.completionEvent === true;
  try {
    const request = parseRunRequest(runner, input); // message, answers, resume or live: decided here and nowhere else
    const { start } = request;
    if (start.kind === 'live') control.live = start.live;
    control.watchSignal();
    locked = await lockForRun(runner, request, control);
    if (locked.isMessageStored) control.start(locked.invocationId);
    wantsCompletion = locked.config.completionEvent === true;
    const isStreaming = start.kind === 'live' || locked.config.streamingMode === StreamingMode.SSE;

    let matched = await matchMessage(runner, request, locked);
    const created = createInvocation(runner, start, locked, control, matched?.message);
    const { invocation, context, committer } = created;
    const { plugins } = context;
    control.operation = startOperation(invocation, { kind: 'run', context, resumed: locked.resumed !== undefined });
    let driver: AgentDriver | undefined;
    let failure: EventloomError | undefined;
    try {
      const rewinding = locked.session.finishRewind(locked.loaded);
      if (rewinding) await rewinding;
      if (matched && plugins.has('onUserMessageCallback')) {
        matched = await replaceMessage(runner, locked, matched, context);
        if (!locked.resumed) invocation.userContent = matched.message;
      }
      const picked = pickAgent(runner, locked, matched);
      const first = picked instanceof Promise ? await picked : picked;
      control.live?.checkAgent(first.agent, runner.agent);
      committer.agentName = first.agent.name;
      if (matched && !locked.isMessageStored) {
        await storeMessage(created, { matched, stateDelta: request.stateDelta, branch: first.branch });
      }
      control.start(locked.invocationId);
      outcome = 'interrupted';
      if (request.replay) yield* replayedEvents(locked);

      driver = new AgentDriver(context.forAgent(first.agent, { branch: first.branch }));
      const answer = plugins.has('beforeRunCallback')
        ? await context.whileConnected(
            control.observe(() => plugins.first('beforeRunCallback', { invocationContext: context })),
          )
        : undefined;
      if (answer) {
        const content = { role: 'model', ...answer };
        yield await committer.commit(context.createEvent({ author: first.agent.name, content }));
      } else {
        for (let step = await control.next(driver); !step.done; step = await control.next(driver)) {
          // The commit barrier: the agent is asked for its next event only when this one is stored.
          const committed = committer.commit(step.value);
          const event = committed instanceof Promise ? await committed : committed;
          if (event.partial !== true || isStreaming) yield event;
        }
      }
      if (plugins.has('afterRunCallback'))
        await context.whileConnected(
          control.observe(() => plugins.all('afterRunCallback', { invocationContext: context })),
        );
      if (context.isResumable && !context.isPaused) {
        if (runner.compactor) await committer.append(committer.endEvent());
        else await locked.session.end(committer.endEvent(), committer.session);
      }
      outcome = 'completed';
      if (runner.compactor)
        await compactSession(runner.compactor, runner.sessionService, { context, committer, loaded: locked.loaded });
    } catch (thrown) {
      if (!control.isStarted) throw thrown;
      await control.closeAgent(driver);
      const failed = context.progress.failedAt(thrown) ?? driver?.context ?? context;
      failure = toRunError(thrown, control.abortReason, failed);
      const { event, isRecorded } = await storeFailure(context, committer, failure, thrown, failed);
      if (!isUnrecordable(failure)) outcome = isRecorded ? 'failed' : 'unrecorded';
      control.operation?.fail(failure);
      try {
        if (event) yield event;
      } finally {
        // Also when the reader leaves at the error event.
        await notifyPlugins(context, failure);
      }
    } finally {
      if (driver?.isRunning) await control.closeAgent(driver);
    }
    if (wantsCompletion) yield completionEvent(runner, locked.config, control.invocationId, failure);
    if (failure) throw failure;
  } catch (thrown) {
    const error = toRunError(thrown, control.abortReason);
    control.operation?.fail(error);
    if (!control.isStarted && REFUSALS.some((type) => type.isInstance(error))) outcome = 'refused';
    if (wantsCompletion && !control.isStarted && RunAbortedError.isInstance(error))
      yield completionEvent(runner, input.params.runConfig, control.invocationId, error);
    if (!control.live?.clientDisconnected) throw error;
  } finally {
    control.end(outcome === 'completed');
    await locked?.session.unlock(staysOpen(locked, outcome, control));
  }
}

/**
 * Whether the run stays open, to be resumed: when its process is about to end, and when it failed and the session does not say so. A run
 * that somebody cancelled, or stopped reading, does not; nor does one that a refused request names, which may wait or be cancelled.
 */
function staysOpen({ resumed, config }: LockedRun, outcome: RunOutcome, control: RunControl): LeaveOpen {
  const isResumable = resumed !== undefined || (control.isStarted && config.resumable === true);
  if (!isResumable) return false;
  if (outcome === 'interrupted' && ShuttingDownError.isInstance(control.signal?.reason)) return 'uncounted';
  return outcome === 'unrecorded';
}
