import {
  type BaseSessionService,
  createEvent,
  type Event,
  InvalidRequestError,
  type OnBusy,
  RunAbortedError,
  type SessionKey,
  type SessionLease,
  SessionNotFoundError,
  StaleWriterError,
} from '@eventloom/core';
import {
  ABORT_SIGNAL_RULE,
  afterCovered,
  applyStateDelta,
  ARTIFACTS_TO_RESTORE,
  checkOptions,
  checkName,
  describeKind,
  newInvocationId,
  type OptionRules,
  reportTo,
  setOwn,
  stateScopeOf,
} from '@eventloom/core/internal';
import { checkRestorable, restoreArtifacts, type ArtifactsToRestore, artifactsToRestore } from './restore-artifacts.ts';
import { closeRun } from './stored-runs/close-run.ts';
import type { Runner } from './runner.ts';

/** Parameters of `Runner.rewindAsync`. */
export interface RewindParams {
  readonly userId: string;
  readonly sessionId: string;
  /** The invocation that is undone, with every event after its first one. */
  readonly rewindBeforeInvocationId: string;
  /** Behaviour while another run holds the session; default `queue`. */
  readonly onBusy?: OnBusy | undefined;
  /** Aborts the rewind as long as nothing is written. */
  readonly abortSignal?: AbortSignal | undefined;
}

const PARAMS: OptionRules<RewindParams> = {
  // Ids are checked as in every method, with InvalidRequestError.
  userId: 'any',
  sessionId: 'any',
  rewindBeforeInvocationId: 'any',
  onBusy: { is: 'text', oneOf: ['queue', 'reject', 'interrupt'] },
  abortSignal: ABORT_SIGNAL_RULE,
};

/** Rewinds a session to before an invocation; see `Runner.rewindAsync`. */
export async function rewind(runner: Runner, params: RewindParams): Promise<Event> {
  checkParams(params);
  const { userId, sessionId, rewindBeforeInvocationId, onBusy, abortSignal } = params;
  const key = { appName: runner.appName, userId, sessionId };
  const checkAborted = (): void => {
    if (abortSignal?.aborted) throw new RunAbortedError('the rewind was aborted', { cause: abortSignal.reason });
  };
  // A rewind that cannot be made must not interrupt a run.
  if (onBusy === 'interrupt') await planRewind(runner.sessionService, key, rewindBeforeInvocationId, checkAborted);
  for (;;) {
    const lock = await runner.sessions.lock({ key, why: 'because its session was rewound', onBusy, abortSignal });
    let rewound: Event | OpenRunToUndo;
    try {
      rewound = await commitRewind(runner, params, lock.lease, () => {
        checkAborted();
        if (lock.lost) throw lock.lost;
      });
    } finally {
      await lock.unlock();
    }
    if ('id' in rewound) return rewound;
    // Without its end, the run would be open although nothing of it is left to continue.
    const reason = 'a rewind of the session undid the run';
    await closeRun(runner, { userId, sessionId, invocationId: rewound.openRunId, reason, onBusy, abortSignal });
  }
}

/** An unfinished run that a rewind undoes. Its end must be stored before the rewind. */
interface OpenRunToUndo {
  readonly openRunId: string;
}

/**
 * Appends the rewind. An error means that nothing was changed; after the append nothing is thrown. Artifacts are stored
 * separately and cannot be committed with the event, so the event lists the versions to restore, and restoring is
 * retried until it is done.
 *
 * @param check throws to abort
 * @returns the stored event; an unfinished run that the rewind undoes, in which case nothing was changed
 */
async function commitRewind(
  runner: Runner,
  { userId, sessionId, rewindBeforeInvocationId }: RewindParams,
  lease: SessionLease,
  check: () => void,
): Promise<Event | OpenRunToUndo> {
  const { appName, platform, sessionService, artifactService } = runner;
  const key = { appName, userId, sessionId };
  const plan = await planRewind(sessionService, key, rewindBeforeInvocationId, check);
  await checkRestorable(artifactService, key, plan.artifacts);
  const openRunId = await findOpenRun(sessionService, key, plan.undoneInvocations);
  if (openRunId !== undefined) return { openRunId };
  const session = await sessionService.getSession({ ...key, config: { numRecentEvents: 0 } });
  if (!session) throw new SessionNotFoundError(`session ${JSON.stringify(sessionId)} was deleted during the rewind`);
  check();
  const { rewoundFrom, coveredUntil, artifacts } = plan;
  const invocationId = newInvocationId(platform);
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
      // The current owner of the session restores the artifacts, or else the next run or rewind.
      if (!StaleWriterError.isInstance(error)) reportTo(platform, error);
    });
  }
  return stored;
}

function checkParams(params: RewindParams): void {
  checkOptions('rewindAsync', PARAMS, params, {}, 'rewindAsync({ userId, sessionId, rewindBeforeInvocationId })');
  const { rewindBeforeInvocationId: invocationId } = params;
  if (typeof invocationId !== 'string')
    throw new InvalidRequestError(
      `rewindBeforeInvocationId: expected a string, got ${describeKind(invocationId)}; write rewindBeforeInvocationId: event.invocationId, of an event to undo`,
    );
  checkName('rewindBeforeInvocationId', invocationId);
}

/** The changes that restore a session to its state before an invocation. */
interface RewindPlan {
  /** The sequence number of the invocation's first event. */
  readonly rewoundFrom: number;
  /**
   * The changes of the session's own state: keys to set back, and keys to remove because they did not exist before the
   * invocation.
   */
  readonly stateChange: { readonly stateDelta: Record<string, unknown>; readonly removedState?: string[] };
  /** The time up to which compactions cover the session, seconds. */
  readonly coveredUntil: number;
  /** The session's artifacts that were saved or deleted since, and those that an earlier rewind has not restored yet. */
  readonly artifacts: ArtifactsToRestore;
  /** The ids of the invocations with undone events, in the order of their newest ones. Foreign events may have none. */
  readonly undoneInvocations: ReadonlySet<string>;
}

/**
 * Finds the session's open run among invocations, which are in the order of their newest events. A run begins, or
 * continues, only when the one before it has ended or waits, so only the newest run can be open.
 */
async function findOpenRun(
  service: BaseSessionService,
  key: SessionKey,
  invocations: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const id of [...invocations].reverse()) {
    const run = await service.findRun({ ...key, id });
    if (run) return run.open && run.invocationId;
  }
  return undefined;
}

/**
 * Reads a session's events from the first one on, and returns the changes that undo the invocation and everything after
 * it. State of the app and of the user, and artifacts named `user:…`, belong to other sessions too and are left out.
 * The plan is current as long as the caller holds the lease.
 *
 * @param check is called before each event, and throws to abort
 * @throws InvalidRequestError when the session has no event of the invocation
 * @throws SessionNotFoundError
 */
async function planRewind(
  service: BaseSessionService,
  key: SessionKey,
  invocationId: string,
  check: () => void,
): Promise<RewindPlan> {
  const state: Record<string, unknown> = Object.create(null);
  const artifacts = new RewoundArtifacts();
  const undoneInvocations = new Set<string>();
  let now: Readonly<Record<string, unknown>> = {};
  let seq = 0;
  let rewoundFrom: number | undefined;
  let coveredUntil = -Infinity;
  for await (const record of service.exportSession(key)) {
    check();
    if (record.type === 'session') {
      applyStateDelta(state, record.initialState);
      now = record.state;
    } else if (record.type === 'event') {
      const { event } = record;
      seq++;
      if (event.invocationId === invocationId) rewoundFrom ??= seq;
      coveredUntil = Math.max(coveredUntil, event.actions.compaction?.endTimestamp ?? -Infinity);
      artifacts.add(event, rewoundFrom !== undefined);
      if (rewoundFrom === undefined) applyOwn(state, event);
      else if (event.invocationId !== '') {
        // In the order of their newest events.
        undoneInvocations.delete(event.invocationId);
        undoneInvocations.add(event.invocationId);
      }
    }
  }
  if (rewoundFrom === undefined) {
    throw new InvalidRequestError(
      `rewindBeforeInvocationId: session ${JSON.stringify(key.sessionId)} has no event of invocation ${JSON.stringify(invocationId)}`,
    );
  }
  const stateChange = stateDifference(state, now);
  const toRestore = artifacts.toRestore(artifactsToRestore(now));
  return { rewoundFrom, stateChange, coveredUntil, artifacts: toRestore, undoneInvocations };
}

/** The versions that a session's artifacts had before the invocation, and the artifacts that changed since. */
class RewoundArtifacts {
  readonly #versions = new Map<string, number>();
  readonly #changed = new Set<string>();

  add({ actions }: Event, isRewound: boolean): void {
    const changes = [...Object.entries(actions.artifactDelta), ...artifactsToRestore(actions.stateDelta)];
    for (const [filename, version] of changes) {
      if (filename.startsWith('user:')) continue;
      if (isRewound) this.#changed.add(filename);
      // A rewind deletes an artifact with all of its versions, so undoing that rewind cannot bring it back.
      if (version === null) this.#versions.delete(filename);
      else if (!isRewound) this.#versions.set(filename, version);
    }
  }

  toRestore(pending: ArtifactsToRestore): ArtifactsToRestore {
    const changed = new Set([...pending.keys(), ...this.#changed]);
    return new Map([...changed].map((filename) => [filename, this.#versions.get(filename) ?? null]));
  }
}

/** Applies an event's changes of the session's own state. Earlier rewinds are events with such changes too. */
function applyOwn(state: Record<string, unknown>, { actions }: Event): void {
  for (const [key, value] of Object.entries(actions.stateDelta)) if (isOwn(key)) setOwn(state, key, value);
  for (const key of actions.removedState ?? []) if (isOwn(key)) delete state[key];
}

function stateDifference(
  then: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): RewindPlan['stateChange'] {
  const stateDelta: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(then)) {
    if (!Object.hasOwn(now, key) || JSON.stringify(now[key]) !== JSON.stringify(value)) setOwn(stateDelta, key, value);
  }
  const removedState = Object.keys(now).filter((key) => isOwn(key) && !Object.hasOwn(then, key));
  return removedState.length > 0 ? { stateDelta, removedState } : { stateDelta };
}

/**
 * True for a key of the session's own state. The list of artifacts to restore is not one, because a later rewind takes
 * it over.
 */
function isOwn(key: string): boolean {
  return stateScopeOf(key) === 'session' && key !== ARTIFACTS_TO_RESTORE;
}
