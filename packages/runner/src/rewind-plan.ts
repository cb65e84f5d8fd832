import {
  applyStateDelta,
  ARTIFACTS_TO_RESTORE,
  type BaseSessionService,
  type Event,
  InvalidRequestError,
  type SessionKey,
  setOwn,
  stateScopeOf,
} from '@eventloom/core';
import { type ArtifactsToRestore, artifactsToRestore } from './artifacts-to-restore.ts';

/** What has to change for a session to be as it was before an invocation. */
export interface RewindPlan {
  /** The sequence number of the invocation's first event. */
  readonly rewoundFrom: number;
  /** The session's own keys that had another value or are gone, and those that were not there. */
  readonly stateChange: { readonly stateDelta: Record<string, unknown>; readonly removedState?: string[] };
  /** The time up to which compactions cover the session, seconds. */
  readonly coveredUntil: number;
  /** The session's artifacts that were saved or deleted since, and what an earlier rewind left to do. */
  readonly artifacts: ArtifactsToRestore;
}

/**
 * Reads a session's history from its begin, an event at a time, and compares. The state of the app and of the user, and
 * artifacts named `user:…`, belong to other sessions too and are left out.
 *
 * Nobody else may write meanwhile: it is called under the lease.
 * @param check is called before each event, and throws to give up
 * @throws InvalidRequestError when the session has no event of the invocation @throws SessionNotFoundError
 */
export async function planRewind(
  service: BaseSessionService,
  key: SessionKey,
  invocationId: string,
  check: () => void,
): Promise<RewindPlan> {
  const state: Record<string, unknown> = Object.create(null);
  const artifacts = new ArtifactHistory();
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
    }
  }
  if (rewoundFrom === undefined) {
    throw new InvalidRequestError(
      `rewindBeforeInvocationId: session ${JSON.stringify(key.sessionId)} has no event of invocation ${JSON.stringify(invocationId)}`,
    );
  }
  const stateChange = stateDifference(state, now);
  return { rewoundFrom, stateChange, coveredUntil, artifacts: artifacts.toRestore(artifactsToRestore(now)) };
}

/** Which versions a session's artifacts had, and which changed since. */
class ArtifactHistory {
  readonly #versions = new Map<string, number>();
  readonly #changed = new Set<string>();

  add({ actions }: Event, isRewound: boolean): void {
    const changes = [...Object.entries(actions.artifactDelta), ...artifactsToRestore(actions.stateDelta)];
    for (const [filename, version] of changes) {
      if (filename.startsWith('user:')) continue;
      if (isRewound) this.#changed.add(filename);
      // What a rewind deleted is gone with all of its versions, and does not come back when that rewind is undone.
      if (version === null) this.#versions.delete(filename);
      else if (!isRewound) this.#versions.set(filename, version);
    }
  }

  toRestore(pending: ArtifactsToRestore): ArtifactsToRestore {
    const changed = new Set([...pending.keys(), ...this.#changed]);
    return new Map([...changed].map((filename) => [filename, this.#versions.get(filename) ?? null]));
  }
}

/** Applies what an event did to the session's own state. Rewinds among the events undid it the same way. */
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

/** What is left to do to artifacts is never undone: a later rewind takes it on. */
function isOwn(key: string): boolean {
  return stateScopeOf(key) === 'session' && key !== ARTIFACTS_TO_RESTORE;
}
