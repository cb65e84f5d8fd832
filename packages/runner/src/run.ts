import {
  type Event,
  type EventloomError,
  type InvocationContext,
  RequestKnownError,
  RunAbortedError,
  type RunOutcome,
  StreamingMode,
} from '@eventloom/core';
import { ARTIFACTS_TO_RESTORE } from '@eventloom/core/internal';
import { AgentDriver } from './agent-driver.ts';
import type { MatchedMessage } from './answers.ts';
import { compactSession } from './compact-session.ts';
import { type CreatedInvocation, createInvocation } from './create-invocation.ts';
import { COMPLETED } from './event-committer.ts';
import type { RunControl } from './run-control.ts';
import {
  completionEvent,
  isStopped,
  notifyPlugins,
  storeFailure,
  storeMissingResponses,
  toRefusal,
  toRunError,
} from './run-failure.ts';
import { type LockedRun, lockForRun } from './lock-run.ts';
import { pickAgent } from './pick-agent.ts';
import { matchContent, replaceMessage, storeMessage } from './run-message.ts';
import { finishRewind } from './restore-artifacts.ts';
import { followRun } from './resume/follow-run.ts';
import { parseRunRequest, type RunInput, type RunRequest } from './run-start.ts';
import type { Runner } from './runner.ts';

/**
 * One run, from its parameters to the release of its session: lock the session, decide what the run continues, store the message, drive the
 * agent, store the end, unlock. This is the only code that drives an agent and commits its events. A message that no plugin and no file can change is
 * stored in the call that locks the session, and the last event of a run, if nothing can follow it, in the call that unlocks the session.
 *
 * The outer `try` unlocks the session however the run ends, and follows the known run for a repeated request. The middle one stores a
 * failure, or the loss of the reader, after the message. The inner one notifies the plugins of a failure even if the reader leaves at its
 * error event.
 *
 * Throws what `Runner.runAsync` says; StorageError at any time, if the storage cannot be used for as long as a lease lasts: until then calls of
 * the store are repeated.
 */
export async function* run(
  runner: Runner,
  input: RunInput,
  control: RunControl,
): AsyncGenerator<Event, void, undefined> {
  let locked: LockedRun | undefined;
  /** The outcome of the run, once the session has it. */
  let outcome: RunOutcome | undefined;
  let failure: EventloomError | undefined;
  let config = input.params?.runConfig;
  let request: RunRequest | undefined;
  const closing = runner.toolsets?.begin();
  try {
    if (closing) await closing;
    request = parseRunRequest(runner, input); // message, answers, resume or live: decided here and nowhere else
    config = request.config;
    if (request.start.kind === 'live') control.live = request.start.live;
    control.watchSignal();
    const locking = lockForRun(runner, request, control);
    locked = locking instanceof Promise ? await locking : locking;
    const { start } = locked;
    const { session } = locked.loaded;
    if (locked.isMessageStored) control.noteBegun(locked, locked.lock.lease, session.lastSeq);
    config = locked.config;
    const isStreaming = start.kind === 'live' || config.streamingMode === StreamingMode.SSE;

    let matched: MatchedMessage | undefined =
      start.kind === 'message'
        ? { message: start.message, calls: [], answers: undefined }
        : start.message && (await matchContent(runner, locked, start.message));
    let isReplaced = false;
    const created = createInvocation(runner, locked, control, matched?.message);
    const { invocation, context, committer } = created;
    const { plugins } = context;
    control.operation = invocation.operations?.start({
      kind: 'run',
      context,
      resumed: locked.resumed !== undefined,
      traceHeaders: input.params.traceHeaders,
    });
    let driver: AgentDriver | undefined;
    try {
      if (ARTIFACTS_TO_RESTORE in session.state) await finishRewind(runner, locked);
      if (matched && plugins.has('onUserMessageCallback')) {
        const sent = matched;
        matched = await replaceMessage(runner, locked, sent, context);
        isReplaced = matched !== sent;
        if (!locked.resumed) invocation.userContent = matched.message;
      }
      let first = pickAgent(runner, locked, matched);
      if (first instanceof Promise) first = await first;
      control.live?.checkAgent(first.agent, runner.agent);
      committer.agentName = first.agent.name;
      if (!locked.isMessageStored) {
        const { stateDelta } = request;
        if (matched) await storeMessage(created, { matched, isReplaced, stateDelta, branch: first.branch });
        control.noteBegun(locked, locked.lock.lease, session.lastSeq);
      }
      for (const event of locked.replayed) yield event;

      driver = new AgentDriver(context.forAgent(first.agent, { branch: first.branch }));
      const answered = plugins.has('beforeRunCallback') ? await askBeforeRun(created, control) : undefined;
      if (answered) {
        control.noteYielded(answered, session);
        yield answered;
      } else {
        const endsWithEvent = storesNothingLater(runner, locked, context);
        for (let step = await control.nextStep(driver); !step.done; step = await control.nextStep(driver)) {
          const isLast = endsWithEvent && !committer.hasInner && step.value === driver.context.lastEvent;
          // The commit barrier: the agent is asked for its next event only when this one is stored.
          const committed = isLast ? committer.commitEnd(step.value) : committer.commit(step.value);
          const event = committed instanceof Promise ? await committed : committed;
          if (isLast) outcome = COMPLETED;
          control.noteYielded(event, session);
          if (event.partial !== true || isStreaming) yield event;
        }
      }
      // A client that hangs up, and a model that takes a call back, leave agents that were called as tools where they are.
      if (start.kind === 'live') {
        for (const event of await storeMissingResponses({ locked, context, committer })) {
          control.noteYielded(event, session);
          yield event;
        }
      }
      if (plugins.has('afterRunCallback'))
        await context.whileConnected(
          control.observe(() => plugins.all('afterRunCallback', { invocationContext: context })),
        );
      if (!outcome) {
        await storeEnd(runner, locked, created);
        outcome = COMPLETED;
      }
    } catch (thrown) {
      if (!control.hasBegun) throw thrown;
      await control.closeAgent(driver);
      if (outcome) {
        // An abort after the end of the run changes nothing.
        if (control.abortReason) return;
        throw thrown;
      }
      const failed = context.progress.failedAt(thrown) ?? driver?.context ?? context;
      failure = toRunError(thrown, control.abortReason, failed);
      control.operation?.fail(failure);
      const stored = await storeFailure({ locked, context, committer, failure, thrown, failed });
      outcome = stored.outcome;
      try {
        // An aborted run yields nothing more.
        for (const event of control.abortReason ? [] : stored.events) {
          control.noteYielded(event, session);
          yield event;
        }
      } finally {
        // Also when the reader leaves at the error event.
        await notifyPlugins(context, failure);
      }
    } finally {
      if (driver?.isRunning) await control.closeAgent(driver);
      if (control.hasBegun && !outcome && !failure) {
        failure = new RunAbortedError('the reader of the run stopped reading');
        ({ outcome } = await storeFailure({ locked, context, committer, failure }));
      }
    }
    if (config.completionEvent && outcome) yield completionEvent(runner, config, control.invocationId, failure);
    if (failure) throw failure;
  } catch (thrown) {
    if (RequestKnownError.isInstance(thrown) && request && request.ifKnown !== 'reject') {
      yield* followRun(runner, request, control, thrown);
      outcome = COMPLETED;
      return;
    }
    const error = control.hasBegun ? toRunError(thrown, control.abortReason) : toRefusal(thrown, control.abortReason);
    control.operation?.fail(error);
    if (config?.completionEvent === true && !control.hasBegun && RunAbortedError.isInstance(error))
      yield completionEvent(runner, config, control.invocationId, error);
    if (!control.live?.clientDisconnected) throw error;
  } finally {
    control.end(outcome !== undefined && !failure);
    if (control.hasBegun) {
      control.isLeftOpen = !outcome;
      const leaveOpen = outcome ? false : isStopped(failure) ? 'uncounted' : true;
      if (locked?.lock.isLocked) await locked.lock.unlock({ leaveOpen, outcome });
    } else await locked?.lock.undo();
    const closed = runner.toolsets?.end();
    if (closed) await closed;
  }
}

/** Returns true if nothing is stored after the last event of the agent: the store then records the end of the run together with this event. */
function storesNothingLater(
  { compactor }: Runner,
  { resumed }: LockedRun,
  { plugins, isResumable, invocation: { live } }: InvocationContext,
): boolean {
  const hasCallbacks =
    plugins.has('onEventCallback') || plugins.has('afterAgentCallback') || plugins.has('afterRunCallback');
  return !compactor && !resumed && !isResumable && !live && !hasCallbacks;
}

/** Asks the plugins whether one of them answers in place of the agent. Stores the answer, if there is one. */
async function askBeforeRun(
  { context, committer }: CreatedInvocation,
  control: RunControl,
): Promise<Event | undefined> {
  const answer = await context.whileConnected(
    control.observe(() => context.plugins.first('beforeRunCallback', { invocationContext: context })),
  );
  if (!answer) return undefined;
  return committer.commit(context.createEvent({ author: committer.agentName, content: { role: 'model', ...answer } }));
}

/** Stores the end of a run that completed, and compacts its session if that is due. A resumable run that waits for an answer gets no end event. */
async function storeEnd(runner: Runner, { lock, loaded }: LockedRun, created: CreatedInvocation): Promise<void> {
  const { context, committer } = created;
  let last = context.isResumable && !context.isPaused ? committer.endEvent() : undefined;
  if (runner.compactor) {
    if (last) await committer.append(last);
    last = undefined;
    await compactSession(runner.compactor, runner.sessionService, { context, committer, loaded });
  }
  await lock.end(loaded.session, COMPLETED, last);
}
