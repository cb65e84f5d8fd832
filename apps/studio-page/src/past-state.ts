import type { Event } from '@eventloom/core';

/** Values of state by key. */
export type StateValues = Readonly<Record<string, unknown>>;

/**
 * Returns the state before the first event of a session, from which the events lead to every later moment. Keys that no event of the
 * session changed have their present value, because other sessions and the application also write state of the user and the app.
 *
 * @param present the present state
 * @param events all events of the session
 * @param initial the session's own state at its beginning; undefined while it is not known
 */
export function stateBefore(
  present: StateValues,
  events: readonly Event[],
  initial: StateValues | undefined,
): StateValues {
  const changed = new Set(
    events.flatMap(({ actions: { stateDelta, removedState = [] } }) => [...Object.keys(stateDelta), ...removedState]),
  );
  const unchanged = Object.entries(present).filter(([key]) => !changed.has(key));
  return Object.fromEntries([...unchanged, ...Object.entries(initial ?? {})]);
}

/** Returns the values of the session's own state. */
export function ownState(state: StateValues): StateValues {
  return Object.fromEntries(Object.entries(state).filter(([key]) => !/^(?:user|app|temp):/.test(key)));
}
