import { serializeEvent, type Session } from '@eventloom/core';

/**
 * A session as JSON text, `{id, appName, userId, state, lastUpdateTime, events}`, part by part: no two values of its state or events
 * need be in memory as text.
 */
export function* sessionParts(session: Session): Generator<string, void, undefined> {
  yield* sessionHead(session);
  let before = '';
  for (const event of session.events) {
    yield before + serializeEvent(event);
    before = ',';
  }
  yield ']}';
}

/** Such a text up to where its events begin. */
export function* sessionHead({
  id,
  appName,
  userId,
  state,
  lastUpdateTime,
}: Session): Generator<string, void, undefined> {
  yield `${JSON.stringify({ id, appName, userId }).slice(0, -1)},"state":{`;
  let before = '';
  for (const [key, value] of Object.entries(state)) {
    yield `${before}${JSON.stringify(key)}:${JSON.stringify(value)}`;
    before = ',';
  }
  yield `},"lastUpdateTime":${lastUpdateTime},"events":[`;
}

/** Several sessions as JSON text. */
export function* sessionListParts(sessions: readonly Session[]): Generator<string, void, undefined> {
  let before = '[';
  for (const session of sessions) {
    yield before;
    yield* sessionParts(session);
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
