import { serializeEvent, type Session, toSessionJson } from '@eventloom/core';

/** A session as JSON text: `{id, appName, userId, state, lastUpdateTime, events}`. */
export function sessionText(session: Session): string {
  const { events, ...rest } = toSessionJson(session);
  const head = JSON.stringify(rest);
  return `${head.slice(0, -1)},"events":[${events.map((event) => serializeEvent(event)).join(',')}]}`;
}
