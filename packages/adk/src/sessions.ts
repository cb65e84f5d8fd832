import { type Event, type Session, State } from '@eventloom/core';
import { isRecord, notAnEvent, toSeconds } from '@eventloom/core/internal';
import type { AdkSession } from './base-session-service.ts';
import { requireArgument, requireOptions } from './check-arguments.ts';

/**
 * Creates a session object that is in no service, for tests and tools. Only `id` and `appName` are required.
 * `lastUpdateTime` may be in milliseconds, and is in seconds in the session.
 */
export function createSession(fields: Partial<Session> & Pick<Session, 'id' | 'appName'>): AdkSession {
  requireOptions('createSession', fields, "createSession({ id: 's1', appName: 'app' })");
  const { id, appName, lastUpdateTime = 0, ...given } = fields;
  return {
    userId: '',
    state: {},
    events: [],
    lastSeq: given.events?.length ?? 0,
    incarnation: '',
    ...given,
    id,
    appName,
    lastUpdateTime: toSeconds(lastUpdateTime),
  };
}

/** Returns an event without the `temp:` keys of its state delta. */
export function trimTempDeltaState(event: Event): Event {
  if (!isRecord(event) || !isRecord(event.actions)) throw notAnEvent('trimTempDeltaState', event);
  return { ...event, actions: { ...event.actions, stateDelta: trimTempState(event.actions.stateDelta) } };
}

/** Returns state without its `temp:` keys. */
export function trimTempState(state: Readonly<Record<string, unknown>>): Record<string, unknown> {
  requireArgument(isRecord(state), 'trimTempState', 'state', state, 'trimTempState(session.state)');
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
