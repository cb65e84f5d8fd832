import {
  type Event,
  type GetSessionConfig,
  type LiveRun,
  type MaybePromise,
  RequestKnownError,
  type RunConfig,
  type RunRecord,
  UnfinishedRunError,
  SessionBusyError,
} from '@eventloom/core';
import { Calls, faultOfLostRun, mergeRunConfigs } from '@eventloom/core/internal';
import { answeredRun, findAnsweredRun } from './answered-run.ts';
import { checkAnswers } from './answers.ts';
import { stampEvent } from './event-committer.ts';
import { closeRun } from './stored-runs/close-run.ts';
import {
  eventsOfRun,
  type ReplayedEvent,
  replayedEvents,
  type ResumedRun,
  readResumedRun,
} from './stored-runs/resumed-run.ts';
import { endOpenRun, NOT_RESUMABLE } from './stored-runs/end-open-run.ts';
import { checkNotIn, checkNotKnown, handleKnownRequest } from './stored-runs/known-request.ts';
import type { RunControl } from './run-control.ts';
import { toRunMarks } from './stored-runs/run-marks.ts';
import type { RunRequest, RunStart } from './run-request.ts';
import type { Runner } from './runner.ts';
import type { BegunSession } from './session-locks.ts';
import { checkStorable } from './store-message.ts';

/** A run whose session is locked and read. */
export interface LockedRun extends BegunSession {
  /** The request's start; for a known request whose run was left, the resume of that run. */
  readonly start: RunStart;
  /** The config of the run. For a resumed run: its stored config, overridden by the caller's options. */
  readonly config: RunConfig;
  /** The window of events that was read; undefined for all effective events. */
  readonly window: GetSessionConfig | undefined;
  /** The run that is continued; undefined for a new one. */
  readonly resumed: ResumedRun | undefined;
  /** True when the store appended the message as it locked the session: see `messageToBeginWith`. */
  readonly isMessageStored: boolean;
  /** Stored events that the stream of a resumed run begins with. */
  readonly replayed: readonly ReplayedEvent[];
}

/** A run that is to get its session. */
interface Locking {
  readonly runner: Runner;
  readonly request: RunRequest;
  readonly control: RunControl;
  /** Ends the wait for the session: the caller's signal, or for a live run one that fires when its client leaves, too. */
  readonly abortSignal: AbortSignal | undefined;
}

/**
 * Locks the session of a run, reads it, and decides which run is continued, if any. An abort ends the wait for the lock.
 * @throws RequestKnownError for a request that is known, unless its run was left and `ifKnown` is `resume`
 */
export function lockForRun(runner: Runner, request: RunRequest, control: RunControl): MaybePromise<LockedRun> {
  const { live } = control;
  const { signal } = control.abort;
  if (live) return lockForLiveRun(live, { runner, request, control, abortSignal: live.beginWaiting(signal) });
  const locking: Locking = { runner, request, control, abortSignal: signal };
  const locked = request.start.kind === 'message' ? lockForNewRun(locking) : lockForContinuedRun(locking);
  if (request.ifKnown !== 'resume' || !(locked instanceof Promise)) return locked;
  return locked.catch((error: unknown) => lockForKnownRun(locking, error));
}

async function lockForLiveRun(live: LiveRun, locking: Locking): Promise<LockedRun> {
  try {
    return await lockForNewRun(locking);
  } finally {
    live.endWaiting();
  }
}

/**
 * Locks the session to resume the run of a known request, if the process of that run ended before the run did.
 *
 * @throws the given error otherwise
 */
async function lockForKnownRun(locking: Locking, error: unknown): Promise<LockedRun> {
  const { runner, request, abortSignal } = locking;
  if (!RequestKnownError.isInstance(error)) throw error;
  const { key, config, bounds } = request;
  const { invocationId } = error;
  const find = async (): Promise<RunRecord | undefined> => runner.sessionService.findRun({ ...key, id: invocationId });
  const record = await runner.sessions.readAhead(find, { abortSignal });
  if (!record?.open || record.open.heldUntilMs > runner.platform.now()) throw error;
  if (faultOfLostRun(record.open, bounds?.maxRunAttempts)) throw error;
  const start = { kind: 'resume', message: undefined, invocationId } as const;
  // The request is recorded, so `beginRun` gets no request id.
  const again = { ...request, start, callIds: [], window: undefined, config: { ...config, requestId: undefined } };
  try {
    const locked = await lockToResume({ ...locking, request: again }, invocationId);
    const { resumed, loaded } = locked;
    const first = resumed?.log.events.findIndex(({ requestId }) => requestId === config.requestId);
    return { ...locked, replayed: resumed ? replayedEvents(loaded, resumed.log, first) : NO_EVENTS };
  } catch (failure) {
    // Another process ended the run in the meantime, or it cannot be resumed: it is followed to its end.
    for (const type of NOT_RESUMABLE) if (type.isInstance(failure)) throw error;
    throw failure;
  }
}

/** Locks the session of a run that continues no other one. If possible, the message is stored in the same call of the store. */
function lockForNewRun(locking: Locking): MaybePromise<LockedRun> {
  const { runner, request, control } = locking;
  const { start, config, window } = request;
  const message = messageToBeginWith(runner, request, control.ownId);
  const isMessageStored = message !== undefined;
  const toLocked = ({ lock, run, loaded }: BegunSession): LockedRun => {
    if (isMessageStored) control.noteBegun(run, lock.lease, loaded.session.lastSeq);
    return { lock, run, loaded, start, config, window, resumed: undefined, isMessageStored, replayed: NO_EVENTS };
  };
  const begun = lockSession(locking, undefined, message);
  if (!(begun instanceof Promise)) return toLocked(begun);
  return begun.then(toLocked, async (error: unknown) => {
    await handleRefusal(locking, error);
    return lockForNewRun(locking);
  });
}

/**
 * Creates the event of a message that needs nothing from the session, so that the store appends it as it begins the
 * run. Undefined if plugins may replace the message, or if its files are saved as artifacts.
 */
function messageToBeginWith(
  { agent, platform, pluginManager }: Runner,
  { start, config, stateDelta }: RunRequest,
  invocationId: string,
): Event | undefined {
  if (start.kind !== 'message' || config.saveInputBlobsAsArtifacts) return undefined;
  if (pluginManager.has('onUserMessageCallback')) return undefined;
  const event: Event = {
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    // The store sets the timestamp of the message, because the run may wait long for its session.
    timestamp: 0,
    executionId: invocationId,
    content: start.message,
    actions: { stateDelta, artifactDelta: {} },
  };
  if (config.resumable) event.actions.agentState = toRunMarks(config, agent);
  return stampEvent(event, config);
}

const NO_EVENTS: LockedRun['replayed'] = [];

/** Maximum number of times that a session is locked for an answer while other runs change it. */
const MAX_TRIES = 10;

/** Locks the session of a run that may continue another one. */
async function lockForContinuedRun(locking: Locking): Promise<LockedRun> {
  const { runner, request, control, abortSignal } = locking;
  const { start, config } = request;
  // The store records the request with the run that it continues; only the events of the run show whether the message
  // is stored.
  const { requestId } = config;
  const read = <T>(work: () => Promise<T>): Promise<T> => runner.sessions.readAhead(work, { abortSignal });
  if (requestId !== undefined) await read(() => checkNotKnown(runner, request, requestId));
  if (config.onBusy === 'interrupt') {
    await read(() => checkAnswers(runner, request));
    await checkStorable(runner, request, control.ownId, abortSignal);
  }
  return start.kind === 'resume' ? lockToResume(locking, start.invocationId) : lockToAnswer(locking);
}

/** Locks the session of the run that the request names. */
async function lockToResume(locking: Locking, resumedId: string): Promise<LockedRun> {
  const { runner, request } = locking;
  for (;;) {
    const begun = await tryToLock(locking, resumedId);
    if (!begun) continue;
    try {
      // Another process may have stored the answers while this one waited for the session.
      checkNotIn(request, begun);
      return toResumed(runner, request, begun);
    } catch (error) {
      await withdraw(locking, begun, resumedId);
      throw error;
    }
  }
}

/**
 * Locks the session of the run that asked for the answers, or of a new run if that one cannot continue. The run that
 * asked is looked up twice: before the lock, because a session is locked for a run, and under the lock, when the
 * session can no longer change.
 */
async function lockToAnswer(locking: Locking): Promise<LockedRun> {
  const { runner, request, abortSignal } = locking;
  const { start, config, key, callIds } = request;
  const find = (): Promise<string | undefined> =>
    runner.sessions.readAhead(() => findAnsweredRun(runner.sessionService, key, callIds), { abortSignal });
  let resumedId = await find();
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    const begun = await tryToLock(locking, resumedId);
    if (!begun) {
      resumedId = await find();
      continue;
    }
    let answeredId: string | undefined;
    try {
      if (resumedId !== undefined) checkNotIn(request, begun);
      answeredId = answeredRun(Calls.of(begun.loaded), callIds);
      if (answeredId === resumedId) {
        if (resumedId !== undefined) return toResumed(runner, request, begun);
        const isNew = { window: undefined, resumed: undefined, isMessageStored: false, replayed: NO_EVENTS };
        return { ...begun, ...isNew, start, config };
      }
    } catch (error) {
      await withdraw(locking, begun, resumedId);
      throw error;
    }
    // The answered run ended, or began to wait, before the session was locked, or older events show another one.
    await begun.lock.withdraw();
    resumedId = answeredId;
  }
  throw new SessionBusyError(
    'newMessage: the run that the message answers changed several times meanwhile; send the message again',
  );
}

/** Locks the session. Resolves to undefined if the store refused the run, and it can be begun again. */
async function tryToLock(locking: Locking, resumedId: string | undefined): Promise<BegunSession | undefined> {
  try {
    return await lockSession(locking, resumedId);
  } catch (error) {
    await handleRefusal(locking, error);
    return undefined;
  }
}

function toResumed(runner: Runner, request: RunRequest, begun: BegunSession): LockedRun {
  const { start, callIds, replay } = request;
  const { run, loaded } = begun;
  const resumed = readResumedRun(runner, loaded, run.invocationId, callIds);
  return {
    ...begun,
    start,
    config: resumedConfig(runner, request, resumed),
    window: undefined,
    resumed,
    isMessageStored: false,
    replayed: replay ? replayedEvents(loaded, resumed.log) : NO_EVENTS,
  };
}

/** Withdraws a run whose events were read and that cannot be continued, and closes it if it is over. */
async function withdraw(locking: Locking, begun: BegunSession, resumedId: string | undefined): Promise<void> {
  await begun.lock.withdraw();
  if (resumedId !== undefined && begun.run.wasOpen) await closeIfEnded(locking, resumedId, begun);
}

/**
 * Closes an open run whose end, or of which no event, is stored: its process ended before it released the session, or stored
 * the message.
 */
async function closeIfEnded(
  { runner, request, abortSignal }: Locking,
  invocationId: string,
  { loaded: { session, derived } }: BegunSession,
): Promise<void> {
  const { userId, sessionId } = request.key;
  const hasEvents = eventsOfRun(session.events, invocationId).length > 0;
  if (hasEvents && !Calls.of({ session, derived }).hasEnded(invocationId)) return;
  await closeRun(runner, { userId, sessionId, invocationId, reason: 'the run cannot be resumed', abortSignal });
}

/**
 * @param resumedId the run that is continued; undefined for a new one
 * @param message the message that the store appends as it locks the session
 */
function lockSession(
  { runner, request, control, abortSignal }: Locking,
  resumedId: string | undefined,
  message?: Event,
): MaybePromise<BegunSession> {
  const { start, callIds, key, config, window, webhook } = request;
  // A message that continues a run is checked before.
  const checks = config.onBusy === 'interrupt' && start.kind === 'message';
  const continues = resumedId !== undefined;
  const invocationId = resumedId ?? control.ownId;
  control.invocationId = invocationId;
  return runner.sessions.begin({
    key,
    why: 'by another run of its session',
    onBusy: config.onBusy,
    busyWaitMs: config.busyWaitMs,
    mayCreate: (start.kind === 'message' || start.kind === 'live') && !control.sawSession,
    run: {
      invocationId,
      resumable: continues || config.resumable === true,
      continues,
      requestId: config.requestId,
      webhook,
    },
    window,
    callIds,
    message,
    abortSignal,
    checkBegin: checks ? () => checkStorable(runner, request, control.ownId, abortSignal) : undefined,
    holder: control,
  });
}

/**
 * Handles an error with which the store refused to begin a run. Returns when the run can be begun again: an unfinished
 * run of the session has ended, or a known request turned out to have no stored message.
 *
 * @throws the error itself if the run cannot begin
 */
async function handleRefusal(locking: Locking, error: unknown): Promise<void> {
  const { runner, request, control, abortSignal } = locking;
  const { start, config } = request;
  const isKnown = RequestKnownError.isInstance(error);
  if (!isKnown && !UnfinishedRunError.isInstance(error)) throw error;
  control.sawSession = true;
  if (isKnown) {
    try {
      await runner.sessions.readAhead(() => handleKnownRequest(runner, request, error, abortSignal), { abortSignal });
    } catch (failure) {
      if (!UnfinishedRunError.isInstance(failure)) throw failure;
      await handleRefusal(locking, failure);
    }
    return;
  }
  if (config.onOpenRun === 'reject' && config.onBusy !== 'interrupt') throw error;
  if (config.onBusy === 'interrupt' && start.kind === 'message')
    await checkStorable(runner, request, control.ownId, abortSignal);
  await endOpenRun(runner, error.run, request, abortSignal);
}

/**
 * Merges the config of a resumed run: the caller's options come first, then those that the run began with, then the
 * runner's defaults, which may have changed since.
 */
function resumedConfig(runner: Runner, { given, bounds }: RunRequest, resumed: ResumedRun): RunConfig {
  const options = Object.entries(given).filter(([, value]) => value !== undefined);
  const wanted = { ...resumed.config, ...Object.fromEntries(options), resumable: true };
  return mergeRunConfigs(wanted, { ...runner.runConfig, customMetadata: undefined }, bounds);
}
