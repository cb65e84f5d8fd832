import {
  ARTIFACTS_TO_RESTORE,
  checkKnown,
  checkName,
  createEvent,
  type Event,
  type OnBusy,
  type OptionNames,
  reportTo,
  RunAbortedError,
  type SessionLease,
  SessionNotFoundError,
  setOwn,
  StaleWriterError,
} from '@eventloom/core';
import { afterCovered } from '@eventloom/core/internal';
import { checkRestorable, restoreArtifacts } from './restore-artifacts.ts';
import { planRewind } from './rewind-plan.ts';
import type { Runner } from './runner.ts';

/** What a rewind is given. */
export interface RewindParams {
  readonly userId: string;
  readonly sessionId: string;
  /** The invocation that is undone, with all that came after its first event. */
  readonly rewindBeforeInvocationId: string;
  /** What to do while a run holds the session; default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** Gives up, as long as nothing is written; what is written is brought to its end. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: OptionNames<RewindParams> = {
  userId: true,
  sessionId: true,
  rewindBeforeInvocationId: true,
  onBusy: true,
  abortSignal: true,
};

/** Takes a session back to before an invocation; see `Runner.rewindAsync`. */
export async function rewind(runner: Runner, params: RewindParams): Promise<Event> {
  checkParams(params);
  const { userId, sessionId, onBusy, abortSignal } = params;
  let lost: StaleWriterError | undefined;
  const session = await runner.sessions.lock({
    key: { appName: runner.appName, userId, sessionId },
    purpose: 'a rewind',
    onBusy,
    abortSignal,
    onLost: (error) => void (lost = error),
  });
  try {
    return await commitRewind(runner, params, session.lease, () => {
      if (abortSignal?.aborted) throw new RunAbortedError('the rewind was aborted', { cause: abortSignal.reason });
      if (lost) throw lost;
    });
  } finally {
    await session.unlock();
  }
}

/**
 * The append decides: before it nothing is changed, after it nothing is thrown. Artifacts have a store of their own that commits
 * nothing together with the event; so the event says what is to become of them, and that is done until it is done.
 * @param check throws to give up
 */
async function commitRewind(
  runner: Runner,
  { userId, sessionId, rewindBeforeInvocationId }: RewindParams,
  lease: SessionLease,
  check: () => void,
): Promise<Event> {
  const { appName, platform, sessionService, artifactService } = runner;
  const key = { appName, userId, sessionId };
  const plan = await planRewind(sessionService, key, rewindBeforeInvocationId, check);
  await checkRestorable(artifactService, key, plan.artifacts);
  const session = await sessionService.getSession({ ...key, config: { numRecentEvents: 0 } });
  if (!session) throw new SessionNotFoundError(`session ${JSON.stringify(sessionId)} was deleted meanwhile`);
  check();
  const { rewoundFrom, coveredUntil, artifacts } = plan;
  const invocationId = `e-${platform.newUuid()}`;
  const stateDelta = { ...plan.stateChange.stateDelta };
  const artifactDelta: Record<string, number> = {};
  for (const [filename, version] of artifacts) if (version !== null) setOwn(artifactDelta, filename, version);
  if (artifacts.size > 0) stateDelta[ARTIFACTS_TO_RESTORE] = Object.fromEntries(artifacts);
  const event = createEvent({
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    timestamp: afterCovered(platform.now() / 1000, coveredUntil),
    executionId: invocationId,
    actions: {
      ...plan.stateChange,
      stateDelta,
      artifactDelta,
      rewindBeforeInvocationId,
      history: { seq: session.lastSeq + 1, rewoundFrom },
    },
  });
  const stored = await sessionService.appendEvent({ session, event, lease });
  if (artifacts.size > 0) {
    await restoreArtifacts(runner, { session, lease, coveredUntil, invocationId }).catch((error: unknown) => {
      // Who has the session now does it; otherwise the next run or rewind.
      if (!StaleWriterError.isInstance(error)) reportTo(platform, error);
    });
  }
  return stored;
}

function checkParams(params: RewindParams): void {
  checkKnown('rewindAsync', PARAMS, params);
  checkName('rewindBeforeInvocationId', params.rewindBeforeInvocationId);
}
