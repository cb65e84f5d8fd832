import { type Event, RequestKnownError, RunAbortedError, RunTimeoutError, StreamingMode } from '@eventloom/core';
import { ARTIFACTS_TO_RESTORE } from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import { matchMessage } from './answers.ts';
import type { RunControl } from './run-control.ts';
import { RunInvocation } from './run-invocation.ts';
import {
  COMPLETED_END,
  completionEvent,
  leavesRunOpen,
  mayLeaveCalls,
  notifyPlugins,
  type EndOfRun,
  storeCompletion,
  storeFailure,
  storeMissingResponses,
  toRefusal,
  toRunError,
} from './run-end.ts';
import { type LockedRun, lockForRun } from './lock-run.ts';
import { pickAgent } from './pick-agent.ts';
import { finishRewind } from './restore-artifacts.ts';
import { followRun } from './stored-runs/follow-run.ts';
import { storedAbort } from './stored-runs/resumed-run.ts';
import { parseRunRequest, type RunInput, type RunRequest } from './run-request.ts';
import type { Runner } from './runner.ts';
import { replaceMessage, storeMessage } from './store-message.ts';

/**
 * One run, from its parameters to the release of its session: lock the session, decide what the run continues, store
 * the message, drive the agent, store the end, unlock. No other code drives the agent of a run, except for chunks after
 * the first one: see `ChunkShortcut`. `docs/design/a-turn.md` follows a turn, a resume, a confirmation and a live run
 * through this function and what it calls.
 *
 * A message that no plugin and no file can change is stored in the call that locks the session, and the last event of a
 * run, if nothing can follow it, in the call that unlocks the session.
 *
 * The inner `try` begins when the session is locked, and every way out of it sets `end`: see the table of `EndOfRun`. The
 * outer one handles a run that did not begin, and unlocks the session in every case.
 *
 * Throws the errors that `Runner.runAsync` lists, and StorageError at any time if the storage cannot be used for the
 * duration of a lease; until then, calls of the store are repeated.
 */
export async function* run(
  runner: Runner,
  input: RunInput,
  control: RunControl,
): AsyncGenerator<Event, void, undefined> {
  let request: RunRequest | undefined;
  let locked: LockedRun | undefined;
  /** Undefined until the run has ended, and for a run that did not begin. */
  let end: EndOfRun | undefined;
  const toolsetsClosed = runner.toolsets?.runBegins();
  try {
    if (toolsetsClosed) await toolsetsClosed;
    request = parseRunRequest(runner, input); // Its start: a message, answers, a resume or a live run.
    control.watch(request.start);
    const locking = lockForRun(runner, request, control);
    locked = locking instanceof Promise ? await locking : locking;
    const { start, config } = locked;
    if (config.maxRunMs !== undefined) control.limitTime(config.maxRunMs);
    const { session } = locked.loaded;
    // Undefined without a message, and if the store has it already.
    const sent =
      locked.isMessageStored || !start.message ? undefined : await matchMessage(runner, locked, start.message);
    const running = new RunInvocation(runner, locked, control, sent?.message ?? start.message);
    const { context, committer } = running;
    const { traceHeaders, stateDelta } = request;
    const resumed = locked.resumed !== undefined;
    control.operation = running.invocation.operations?.start({ kind: 'run', context, resumed, traceHeaders });
    let driver: AgentDriver | undefined;
    try {
      if (ARTIFACTS_TO_RESTORE in session.state) await finishRewind(runner, locked);
      const matched =
        sent && context.plugins.has('onUserMessageCallback') ? await replaceMessage(runner, running, sent) : sent;
      const picking = pickAgent(runner, locked, matched);
      const { agent, branch } = picking instanceof Promise ? await picking : picking;
      if (!locked.isMessageStored) {
        control.live?.checkAgent(agent, runner.agent);
        if (matched) await storeMessage(running, { matched, isReplaced: matched !== sent, stateDelta, branch });
        control.noteBegun(locked, locked.lock.lease, session.lastSeq);
      }
      committer.agentName = agent.name;
      for (const { event, seq } of locked.replayed) yield control.advanceTo(event, seq);
      const aborted = locked.resumed && storedAbort(locked.resumed);
      if (aborted) {
        context.markReported(aborted);
        throw aborted;
      }

      driver = new AgentDriver(context.forAgent(agent, { branch }));
      const instead = context.plugins.has('beforeRunCallback') ? await askBeforeRun(running, control) : undefined;
      if (instead) yield control.advanceIn(session, instead);
      else {
        const isStreaming =
          runner.yieldsAllChunks || start.kind === 'live' || config.streamingMode === StreamingMode.SSE;
        for (let step = await control.nextStep(driver); !step.done; step = await control.nextStep(driver)) {
          // The agent announces its last event in `lastEvent`, so that the end of the run is stored together with it.
          const isLast =
            running.endsWithEvent && !committer.hasSubInvocations && step.value === driver.context.lastEvent;
          // The commit barrier: the agent is asked for its next event only once this event is stored.
          const committing = committer.commit(step.value, isLast);
          const event = committing instanceof Promise ? await committing : committing;
          if (isLast) {
            end = COMPLETED_END;
            driver.endAfterLastEvent();
          }
          if (event.partial !== true) yield control.advanceIn(session, event);
          else if (isStreaming) yield control.passChunks(driver, committer, event);
        }
      }
      // An agent was ended from within, or it was called as a tool and failed, was stopped, or works on after its tool has returned.
      if (!end && (start.kind === 'live' || mayLeaveCalls(running))) {
        const how = context.isPaused ? 'waits' : 'completed';
        for (const event of await storeMissingResponses(running, how)) yield control.advanceIn(session, event);
      }
      end ??= await storeCompletion(runner, running, control);
    } catch (thrown) {
      if (!control.hasBegun) throw thrown;
      await control.closeAgent(driver);
      if (end) {
        // An abort after the end of the run changes nothing.
        if (control.abortReason) return;
        throw thrown;
      }
      const failed = context.progress.failedAt(thrown) ?? driver?.context ?? context;
      const failure = toRunError(thrown, control.abortReason, failed);
      control.operation?.fail(failure);
      const stored = await storeFailure(running, { failure, thrown, failed });
      end = stored;
      // An aborted run yields nothing more; a reader of a run that took too long is still there.
      if (!control.abortReason || RunTimeoutError.isInstance(failure))
        for (const event of stored.events) yield control.advanceIn(session, event);
    } finally {
      if (driver?.isRunning) await control.closeAgent(driver);
      // Plugins are notified even if the reader stops at the error event.
      if (end?.failure) await notifyPlugins(context, end.failure);
      else if (!end && control.hasBegun)
        end = await storeFailure(running, { failure: new RunAbortedError('the reader of the run stopped reading') });
    }
    if (config.completionEvent && end?.outcome)
      yield completionEvent(runner, config, control.invocationId, end.failure);
    if (end?.failure) throw end.failure;
  } catch (thrown) {
    if (!control.hasBegun && RequestKnownError.isInstance(thrown) && request && request.ifKnown !== 'reject') {
      end = { outcome: yield* followRun(runner, request, control, thrown) };
      return;
    }
    const error = control.hasBegun ? toRunError(thrown, control.abortReason) : toRefusal(thrown, control.abortReason);
    control.operation?.fail(error);
    const config = (locked ?? request)?.config;
    if (config?.completionEvent && !control.hasBegun && RunAbortedError.isInstance(error))
      yield completionEvent(runner, config, control.invocationId, error);
    if (!control.live?.clientDisconnected) throw error;
  } finally {
    control.end(end);
    if (!control.hasBegun) await locked?.lock.withdraw();
    else if (locked?.lock.isLocked) {
      const keepRunOpen = end?.outcome ? false : leavesRunOpen(end?.failure) ? 'without-attempt' : true;
      await locked.lock.unlock({ keepRunOpen, outcome: end?.outcome });
    }
    control.unlocking?.resolve();
    const toolsetsSuspended = runner.toolsets?.runEnds();
    if (toolsetsSuspended) await toolsetsSuspended;
  }
}

/** Asks the plugins whether one of them replaces the agent. Stores the replacement, if there is one. */
async function askBeforeRun({ context, committer }: RunInvocation, control: RunControl): Promise<Event | undefined> {
  const replacement = await context.whileConnected(
    control.observe(() => context.plugins.first('beforeRunCallback', { invocationContext: context })),
  );
  if (!replacement) return undefined;
  return committer.commit(
    context.createEvent({ author: committer.agentName, content: { role: 'model', ...replacement } }),
  );
}
