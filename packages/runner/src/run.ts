import { type Event, RequestKnownError, RunAbortedError, StreamingMode } from '@eventloom/core';
import { ARTIFACTS_TO_RESTORE } from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import { matchMessage } from './answers.ts';
import type { CountedEvent } from './chunk-shortcut.ts';
import { type LockedRun, lockForRun } from './lock-run.ts';
import { pickAgent } from './pick-agent.ts';
import { finishRewind } from './restore-artifacts.ts';
import type { RunControl } from './run-control.ts';
import {
  COMPLETED,
  COMPLETED_END,
  completionEvent,
  type EndOfRun,
  mayLeaveCalls,
  notifyPlugins,
  releaseSession,
  storeCompletion,
  storeEndWithoutReader,
  storeFailure,
  storeMissingResponses,
  toStreamError,
} from './run-end.ts';
import { RunInvocation } from './run-invocation.ts';
import { parseRunRequest, type RunInput, type RunRequest } from './run-request.ts';
import type { Runner } from './runner.ts';
import { beginOnceLocked } from './store-message.ts';
import { followRun } from './stored-runs/follow-run.ts';
import { checkNotAborted } from './stored-runs/resumed-run.ts';

/**
 * One run, from its parameters to the release of its session: lock the session, decide what the run continues, store
 * the message, drive the agent, store the end, unlock. No other code drives the agent of a run, except for chunks after
 * the first one: see `ChunkShortcut`. `docs/design/a-turn.md` follows a turn, a resume, a confirmation and a live run
 * through this function and what it calls.
 *
 * | the run as         | is known after                | and has                                                             |
 * | ------------------ | ----------------------------- | ------------------------------------------------------------------- |
 * | `input`            | the call                      | the parameters as the caller gave them                              |
 * | `control`          | the call                      | its stream and its abort, for everybody who waits for the run       |
 * | `request`          | the check of the parameters   | its `start` (message, answers, resume, live) and its config         |
 * | `locked`           | the session is locked         | the session, its lease, and the run that it continues, if any       |
 * | `invocation`       | that, too                     | the root context, and the committer that stores its events          |
 * | `end`              | the end                       | its outcome, and the error that the stream throws                   |
 *
 * A message that no plugin and no file can change is stored in the call that locks the session, and the last event of a
 * run, if nothing can follow it, in the call that unlocks the session.
 *
 * The inner `try` begins when the session is locked, and every way out of it after the run has begun sets `end`: see the
 * table of `EndOfRun`. The outer one handles a run that did not begin, and unlocks the session in every case. Every
 * yield goes through `control`, which counts the requests of the reader: see `CountedEvent`.
 *
 * Throws the errors that `Runner.runAsync` lists, and StorageError at any time if the storage cannot be used for the
 * duration of a lease; until then, calls of the store are repeated.
 */
export async function* run(
  runner: Runner,
  input: RunInput,
  control: RunControl,
): AsyncGenerator<CountedEvent, void, undefined> {
  let request: RunRequest | undefined;
  let locked: LockedRun | undefined;
  let end: EndOfRun | undefined;
  const toolsetsClosed = runner.toolsets?.runBegins();
  try {
    if (toolsetsClosed) await toolsetsClosed;
    request = parseRunRequest(runner, input);
    if (request.start.kind === 'live') control.live = request.start.live;
    control.abort.watch(input.params.abortSignal);
    const locking = lockForRun(runner, request, control);
    locked = locking instanceof Promise ? await locking : locking;
    const { start, config, resumed } = locked;
    const { session } = locked.loaded;
    if (config.maxRunMs !== undefined) control.limitTime(config.maxRunMs);
    // The message with the calls that it answers. Undefined if there is none to store.
    const matched =
      locked.isMessageStored || !start.message ? undefined : await matchMessage(runner, locked, start.message);
    const invocation = new RunInvocation(runner, locked, control, matched?.message ?? start.message);
    const { context, committer, appender } = invocation;
    const { traceHeaders, stateDelta } = request;
    const isResumed = resumed !== undefined;
    control.operation = invocation.shared.operations?.start({ kind: 'run', context, resumed: isResumed, traceHeaders });
    let driver: AgentDriver | undefined;
    try {
      if (ARTIFACTS_TO_RESTORE in session.state) await finishRewind(runner, locked);
      const picking = locked.isMessageStored
        ? pickAgent(runner, locked)
        : beginOnceLocked(runner, invocation, control, { matched, stateDelta });
      const { agent, branch } = picking instanceof Promise ? await picking : picking;
      committer.agentName = agent.name;
      for (const { event, seq } of locked.replayed) yield control.advanceTo(event, seq);
      if (resumed) checkNotAborted(resumed, context);

      driver = new AgentDriver(context.forAgent(agent, { branch }));
      const instead = context.plugins.has('beforeRunCallback') ? await askBeforeRun(invocation, control) : undefined;
      if (instead) yield control.advanceIn(session, instead);
      else {
        const isStreaming =
          runner.yieldsAllChunks || start.kind === 'live' || config.streamingMode === StreamingMode.SSE;
        for (let step = await control.nextStep(driver); !step.done; step = await control.nextStep(driver)) {
          // The agent announces its last event in `lastEvent`, so that the end of the run is stored together with it.
          const isLast =
            invocation.endsWithEvent && !appender.hasSubInvocations && step.value === driver.context.lastEvent;
          // The commit barrier: the agent is asked for its next event only once this event is stored.
          const committing = isLast
            ? appender.end(committer.complete(step.value), COMPLETED)
            : committer.commit(step.value);
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
      if (!end && (start.kind === 'live' || mayLeaveCalls(invocation))) {
        const how = context.isPaused ? 'waits' : 'completed';
        for (const event of await storeMissingResponses(invocation, how)) yield control.advanceIn(session, event);
      }
      end ??= await storeCompletion(runner, invocation, control);
    } catch (thrown) {
      if (!control.begun) throw thrown;
      await control.closeAgent(driver);
      // An abort after the end of the run changes nothing.
      if (end && control.abort.reason) return;
      if (end) throw thrown;
      const failed = await storeFailure(invocation, control, { thrown, agent: driver?.context });
      end = failed;
      for (const event of failed.events) yield control.advanceIn(session, event);
    } finally {
      if (driver?.state === 'running') await control.closeAgent(driver);
      // Plugins are notified even if the reader stops at the error event.
      if (end?.failure) await notifyPlugins(context, end.failure);
      else if (!end && control.begun) end = await storeEndWithoutReader(invocation);
    }
    if (config.completionEvent && end?.outcome)
      yield control.pass(completionEvent(runner, config, control.invocationId, end.failure));
    if (end?.failure) throw end.failure;
  } catch (thrown) {
    if (!control.begun && RequestKnownError.isInstance(thrown) && request && request.ifKnown !== 'reject') {
      end = { outcome: yield* followRun(runner, request, control, thrown) };
      return;
    }
    const error = toStreamError(thrown, control);
    control.operation?.fail(error);
    const config = (locked ?? request)?.config;
    if (config?.completionEvent && !control.begun && RunAbortedError.isInstance(error))
      yield control.pass(completionEvent(runner, config, control.invocationId, error));
    if (!control.live?.clientDisconnected) throw error;
  } finally {
    control.end(end);
    // A run whose last event was stored together with its end is unlocked already.
    if (locked?.lock.isLocked) await releaseSession(locked, control, end);
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
