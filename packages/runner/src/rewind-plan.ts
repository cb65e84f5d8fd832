import {
  applyStateDelta,
  type BaseSessionService,
  type Event,
  InvalidRequestError,
  type SessionKey,
  setOwn,
  stateScopeOf,
} from '@eventloom/core';

/** What has to change for a session to be as it was before an invocation. */
export interface RewindPlan {
  /** The session's own keys that had another value or are gone, and those that were not there. */
  readonly stateChange: { readonly stateDelta: Record<string, unknown>; readonly removedState?: string[] };
  /** The time up to which compactions cover the session, seconds. */
  readonly coveredUntil: number;
  /** The session's artifacts that were saved since, with the version that each had; undefined when it was not there. */
  readonly artifacts: ReadonlyMap<string, number | undefined>;
}

/**
 * Reads a session's history from its begin, an event at a time, and compares. The state of the app and of the user, and
 * artifacts named `user:…`, belong to other sessions too and are left out.
 *
 * Nobody else may write meanwhile: it is called under the lease.
 * @throws InvalidRequestError when the session has no event of the invocation @throws SessionNotFoundError
 */
export async function planRewind(
  service: BaseSessionService,
  key: SessionKey,
  invocationId: string,
): Promise<RewindPlan> {
  const state: Record<string, unknown> = Object.create(null);
  const versions = new Map<string, number>();
  const savedSince = new Set<string>();
  let now: Readonly<Record<string, unknown>> = {};
  let isReached = false;
  let coveredUntil = -Infinity;
  for await (const record of service.exportSession(key)) {
    if (record.type === 'session') {
      applyStateDelta(state, record.initialState);
      now = record.state;
    } else if (record.type === 'event') {
      const { event } = record;
      isReached ||= event.invocationId === invocationId;
      coveredUntil = Math.max(coveredUntil, event.actions.compaction?.endTimestamp ?? -Infinity);
      for (const [filename, version] of Object.entries(event.actions.artifactDelta)) {
        if (filename.startsWith('user:')) continue;
        if (isReached) savedSince.add(filename);
        else versions.set(filename, version);
      }
      if (!isReached) applyOwn(state, event);
    }
  }
  if (!isReached) {
    throw new InvalidRequestError(
      `rewindBeforeInvocationId: session ${JSON.stringify(key.sessionId)} has no event of invocation ${JSON.stringify(invocationId)}`,
    );
  }
  return {
    stateChange: stateDifference(state, now),
    coveredUntil,
    artifacts: new Map([...savedSince].map((filename) => [filename, versions.get(filename)])),
  };
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

function isOwn(key: string): boolean {
  return stateScopeOf(key) === 'session';
}
