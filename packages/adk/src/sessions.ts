import { type Event, type Session, State } from '@eventloom/core';

/** Creates a session object that is in no service, for tests and tools. Only `id` and `appName` are required. */
export function createSession({ id, appName, ...given }: Partial<Session> & Pick<Session, 'id' | 'appName'>): Session {
  return {
    userId: '',
    state: {},
    events: [],
    lastUpdateTime: 0,
    lastSeq: given.events?.length ?? 0,
    incarnation: '',
    ...given,
    id,
    appName,
  };
}

/** Returns an event without the `temp:` keys of its state delta. */
export function trimTempDeltaState(event: Event): Event {
  return { ...event, actions: { ...event.actions, stateDelta: trimTempState(event.actions.stateDelta) } };
}

/** Returns state without its `temp:` keys. */
export function trimTempState(state: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(state).filter(([key]) => !key.startsWith(State.TEMP_PREFIX)));
}

/** Merges the state of the app, of the user and of a session, each with its prefix. */
export function mergeStates(
  appState: Readonly<Record<string, unknown>> = {},
  userState: Readonly<Record<string, unknown>> = {},
  sessionState: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const prefixed = (prefix: string, state: Readonly<Record<string, unknown>>) =>
    Object.entries(state).map(([key, value]) => [`${prefix}${key}`, value] as const);
  return Object.fromEntries([
    ...Object.entries(structuredClone(sessionState)),
    ...prefixed(State.APP_PREFIX, appState),
    ...prefixed(State.USER_PREFIX, userState),
  ]);
}
