import {
  enclosureOf,
  type Event,
  type GetSessionConfig,
  ObjectType,
  type RunConfig,
  UnfinishedRunError,
} from '@eventloom/core';
import { Calls, runConfigOver } from '@eventloom/core/internal';
import { answeredRun, findAnsweredRun } from './answered-run.ts';
import { type ResumedInvocation, resumeInvocation } from './resume/resume-invocation.ts';
import { endOpenRun } from './resume/end-open-run.ts';
import type { RunControl } from './run-stream.ts';
import { messageToBeginWith } from './run-message.ts';
import type { RunRequest } from './run-start.ts';
import type { Runner } from './runner.ts';
import type { LoadedSession } from './session-loader.ts';
import type { BegunSession, LockedSession } from './session-locks.ts';

/** A run whose session is locked and read. */
export interface LockedRun {
  readonly invocationId: string;
  /** The config that is in force: that of a resumed run, with the caller's options over it. */
  readonly config: RunConfig;
  readonly session: LockedSession;
  readonly loaded: LoadedSession;
  /** The events that were read; undefined for everything that counts. */
  readonly window: GetSessionConfig | undefined;
  /** The run that goes on; undefined for a new one. */
  readonly resumed: ResumedInvocation | undefined;
  /** The session's sequence number of the run's first event. */
  readonly firstSeq: number;
  /** True when the store appended the message as it locked the session: see `messageToBeginWith`. */
  readonly isMessageStored: boolean;
}

/** Locks the session of a run, reads it, and decides which run goes on, if one does. A client that leaves meanwhile need not wait. */
export function lockForRun(runner: Runner, request: RunRequest, control: RunControl): Promise<LockedRun> {
  const { live, signal } = control;
  return (
    live?.whileWaiting((abortSignal) => lock(runner, request, control, abortSignal), signal) ??
    lock(runner, request, control, signal)
  );
}

/**
 * A session is locked for a run, so the run that the answers continue is looked up before, and again once nobody else can change the
 * session.
 */
async function lock(
  runner: Runner,
  request: RunRequest,
  control: RunControl,
  abortSignal: AbortSignal | undefined,
): Promise<LockedRun> {
  const { start, callIds, key, config } = request;
  for (let tries = 1; ;) {
    const resumedId =
      start.kind === 'resume'
        ? start.invocationId
        : start.kind === 'answers'
          ? await findAnsweredRun(runner.sessionService, key, callIds, tries++)
          : undefined;
    const isResume = resumedId !== undefined;
    const invocationId = resumedId ?? control.invocationId;
    const window = isResume ? undefined : request.window;
    const message = start.kind === 'message' ? messageToBeginWith(runner, request, invocationId) : undefined;
    const resumable = isResume || config.resumable === true;
    let begun: BegunSession;
    try {
      begun = await runner.sessions.begin({
        key,
        purpose: 'another run',
        onBusy: config.onBusy,
        busyWaitMs: config.busyWaitMs,
        mayCreate: start.kind === 'message' || start.kind === 'live',
        run: { invocationId, resumable, continues: isResume, requestId: config.requestId },
        window,
        callIds,
        message,
        invocationId: resumedId,
        abortSignal,
        onLost: (error) => control.abort(error),
        holder: control,
      });
    } catch (error) {
      if (!UnfinishedRunError.isInstance(error)) throw error;
      if (config.onOpenRun === 'reject' && config.onBusy !== 'interrupt') throw error;
      await endOpenRun(runner, error.run, request, abortSignal);
      continue;
    }
    const { locked: session, loaded } = begun;
    try {
      if (start.kind !== 'answers' || answeredRun(Calls.of(loaded.session, loaded.derived), callIds) === resumedId) {
        const firstSeq = session.run?.firstSeq ?? 0;
        const run = { invocationId, session, loaded, window, firstSeq, isMessageStored: message !== undefined };
        if (!isResume) return { ...run, config, resumed: undefined };
        const resumed = resumeInvocation(runner.agent, loaded, resumedId);
        return { ...run, config: resumedConfig(runner, request, resumed), resumed };
      }
    } catch (error) {
      await session.undo();
      throw error;
    }
    await session.undo();
  }
}

/** What the run began with goes before the runner's defaults, which may be others today, and what the caller gives before both. */
function resumedConfig(runner: Runner, { given, bounds }: RunRequest, resumed: ResumedInvocation): RunConfig {
  const options = Object.entries(given).filter(([, value]) => value !== undefined);
  const asked = { ...resumed.config, ...Object.fromEntries(options), resumable: true };
  return runConfigOver(asked, { ...runner.runConfig, customMetadata: undefined }, bounds);
}

/** The stored events that the stream of a resumed run begins with. */
export function replayedEvents({ resumed }: LockedRun): Event[] {
  return resumed?.resumedFrom.events.filter(isReplayed) ?? [];
}

/** True for a stored event that the stream of its run yields: not those of agents that were called as tools. */
export function isReplayed({ author, branch, actions, object }: Event): boolean {
  return author !== 'user' && enclosureOf(branch) === '' && !actions.compaction && object !== ObjectType.runnerEnd;
}
