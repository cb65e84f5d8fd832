import { serializeEvent, type Session, toSessionJson } from '@eventloom/core';

/** A session as JSON text: `{id, appName, userId, state, lastUpdateTime, events}`. */
export function sessionText(session: Session): string {
  return `${sessionHead(session)}${session.events.map((event) => serializeEvent(event)).join(',')}]}`;
}

/** Such a text up to where its events begin. */
export function sessionHead(session: Session): string {
  const { events: _events, ...rest } = toSessionJson(session);
  return `${JSON.stringify(rest).slice(0, -1)},"events":[`;
}
