import { type Session, type GetSessionConfig, InvalidRequestError } from '@eventloom/core';
import { describeKind, applyStateDelta, prefixedKey, setOwn, stateScopeOf } from '@eventloom/core/internal';
import type { AppendPlan } from './append-plan.ts';
import type { StateEntry, StoredSession, EventWindow } from './session-driver.ts';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** The window of all events of a session. */
export const ALL_EVENTS: EventWindow = {
  afterSeq: 0,
  beforeSeq: undefined,
  sinceCompaction: false,
  afterTimestamp: undefined,
  limit: undefined,
};

/** Converts the options of a read to a window. @throws InvalidRequestError for invalid numbers */
export function toEventWindow(config: GetSessionConfig | undefined): EventWindow {
  if (!config) return ALL_EVENTS;
  const { numRecentEvents, afterTimestamp, afterSeq = 0, beforeSeq, sinceCompaction = false } = config;
  if (numRecentEvents !== undefined) checkCount('numRecentEvents', numRecentEvents);
  checkCount('afterSeq', afterSeq);
  if (beforeSeq !== undefined) checkCount('beforeSeq', beforeSeq);
  if (typeof sinceCompaction !== 'boolean')
    throw new InvalidRequestError(
      `config.sinceCompaction: expected true or false, got ${describeKind(sinceCompaction)}`,
    );
  if (afterTimestamp !== undefined && !Number.isFinite(afterTimestamp)) {
    throw new InvalidRequestError(
      `config.afterTimestamp: expected a number of seconds, got ${describeKind(afterTimestamp)}; write config: { afterTimestamp: Date.now() / 1000 - 3600 }`,
    );
  }
  return { afterSeq, beforeSeq, sinceCompaction, afterTimestamp, limit: numRecentEvents };
}

function checkCount(field: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 0) return;
  throw new InvalidRequestError(
    `config.${field}: expected an integer of at least 0, got ${describeKind(value)}; write config: { ${field}: 100 }`,
  );
}

/** Returns the merged view of app, user and session state. It has no prototype, so every key is data. */
export function mergedView(entries: readonly StateEntry[]): Record<string, unknown> {
  const view = new StateView();
  for (const { scope, key, value } of entries) setOwn(view, prefixedKey(scope, key), value);
  return view;
}

/** A dictionary without a prototype. Creating it takes a quarter of the time of `Object.create(null)`, and reading it half. */
class StateView {
  [key: string]: unknown;

  /** Lets `console.log` of Node print a plain object. */
  [INSPECT](): unknown {
    return Object.fromEntries(Object.entries(this));
  }

  static {
    Object.setPrototypeOf(this.prototype, null);
    Reflect.deleteProperty(this.prototype, 'constructor');
  }
}

/** Converts a stored session to the object that callers get. */
export function toSession(stored: StoredSession): Session {
  return {
    id: stored.sessionId,
    appName: stored.appName,
    userId: stored.userId,
    state: mergedView(stored.state),
    events: stored.events,
    lastUpdateTime: stored.updatedAtMs / 1000,
    lastSeq: stored.lastSeq,
    incarnation: stored.incarnation,
  };
}

/** Applies an append to the session object with which it was made. */
export function showAppend(session: Session, plan: AppendPlan, seq: number, nowMs: number): void {
  session.events.push(plan.event);
  session.lastSeq = seq;
  session.lastUpdateTime = nowMs / 1000;
  if (plan.stateDelta || plan.removedState)
    applyStateDelta(writableState(session), plan.stateDelta ?? {}, plan.removedState);
}

/** Updates a session object with the events and state read after its `lastSeq`. Its `temp:` keys stay. */
export function showStored(session: Session, stored: StoredSession): void {
  const missing = stored.lastSeq - session.lastSeq;
  if (missing <= 0 || stored.incarnation !== session.incarnation) return;
  for (const event of stored.events.slice(-missing)) session.events.push(event);
  const state = writableState(session);
  for (const key in state) if (stateScopeOf(key) !== 'temp') delete state[key];
  for (const { scope, key, value } of stored.state) setOwn(state, prefixedKey(scope, key), value);
  session.lastSeq = stored.lastSeq;
  session.lastUpdateTime = stored.updatedAtMs / 1000;
}

/** Applies the `temp:` keys of an append, which are never stored. */
export function showTemp(session: Session, { stateDelta, removedState }: AppendPlan): void {
  const state = writableState(session);
  for (const key in stateDelta) if (stateScopeOf(key) === 'temp') setOwn(state, key, stateDelta[key]);
  for (const key of removedState ?? []) if (stateScopeOf(key) === 'temp') delete state[key];
}

/** Returns a session's state for writing. Its type is read-only for all code except the service that updates it. */
function writableState({ state }: Session): Record<string, unknown> {
  return state;
}
