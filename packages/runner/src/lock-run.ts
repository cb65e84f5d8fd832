import { enclosureOf, type Event, type GetSessionConfig, type RunConfig } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { answeredRun, findAnsweredRun } from './answered-run.ts';
import { type ResumedInvocation, resumeInvocation } from './resume/resume-invocation.ts';
import type { RunControl } from './run-control.ts';
import { messageToBeginWith } from './run-message.ts';
import { callIdsOf, type RunRequest, windowOf } from './run-start.ts';
import type { Runner } from './runner.ts';
import type { LoadedSession } from './session-loader.ts';
import type { LockedSession } from './session-locks.ts';

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
  const { start, key, config } = request;
  const callIds = callIdsOf(start);
  for (let tries = 1; ; tries++) {
    const resumedId =
      start.kind === 'resume'
        ? start.invocationId
        : start.kind === 'answers'
          ? await findAnsweredRun(runner.sessionService, key, callIds, tries)
          : undefined;
    const isResume = resumedId !== undefined;
    const invocationId = resumedId ?? control.invocationId;
    const window = isResume ? undefined : windowOf(request);
    const message = start.kind === 'message' ? messageToBeginWith(runner, request, invocationId) : undefined;
    const resumable = isResume || config.resumable === true;
    const { locked: session, loaded } = await runner.sessions.begin({
      key,
      purpose: 'another run',
      onBusy: config.onBusy,
      busyWaitMs: config.busyWaitMs,
      mayCreate: start.kind === 'message' || start.kind === 'live',
      run: { invocationId, resumable },
      window,
      callIds,
      message,
      invocationId: resumedId,
      leaveOpen: isResume || (resumable && message !== undefined),
      abortSignal,
      onLost: (error) => control.abort(error),
      holder: control,
    });
    try {
      if (start.kind !== 'answers' || answeredRun(Calls.of(loaded.session, loaded.derived), callIds) === resumedId) {
        const run = { invocationId, session, loaded, window, isMessageStored: message !== undefined };
        if (!isResume) return { ...run, config, resumed: undefined };
        const resumed = resumeInvocation(runner.agent, loaded, resumedId);
        return { ...run, config: resumedConfig(resumed, config), resumed };
      }
    } catch (error) {
      await session.unlock();
      throw error;
    }
    await session.unlock();
  }
}

function resumedConfig(resumed: ResumedInvocation, given: RunConfig): RunConfig {
  const options = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...resumed.config, ...Object.fromEntries(options), resumable: true };
}

/** The stored events that the stream of a resumed run begins with: not those of agents that were called as tools. */
export function replayedEvents({ resumed }: LockedRun): Event[] {
  const isYielded = ({ author, branch, actions }: Event): boolean =>
    author !== 'user' && enclosureOf(branch) === '' && !actions.compaction;
  return resumed?.resumedFrom.events.filter(isYielded) ?? [];
}
