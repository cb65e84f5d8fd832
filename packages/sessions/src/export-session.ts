import {
  checkName,
  ConfigurationError,
  SESSION_RECORD_VERSION,
  type SessionKey,
  type SessionRecord,
} from '@eventloom/core';
import { EventPageSize } from './event-page-size.ts';
import { ALL_EVENTS } from './event-window.ts';
import type { SessionDriver } from './session-driver.ts';
import { notFoundError } from './errors.ts';
import { mergedView } from './session-view.ts';

/** Everything that a driver has of a session, as of its first read: what is appended later is not in it. */
export async function* exportSession(
  driver: SessionDriver,
  { appName, userId, sessionId }: SessionKey,
): AsyncGenerator<SessionRecord, void, undefined> {
  checkName('appName', appName);
  checkName('userId', userId);
  checkName('sessionId', sessionId);
  const key = { appName, userId, sessionId };
  const session = await driver.readBackground(key);
  if (!session) throw notFoundError(key);
  const { incarnation, lastSeq, toolCalls } = session;
  yield {
    type: 'session',
    version: SESSION_RECORD_VERSION,
    appName,
    userId,
    id: sessionId,
    lastUpdateTime: session.updatedAtMs / 1000,
    initialState: mergedView(session.initialState),
    state: mergedView(session.state),
  };
  const size = new EventPageSize();
  let seq = 0;
  while (seq < lastSeq) {
    const beforeSeq = Math.min(lastSeq, seq + size.events) + 1;
    const page = await driver.readEvents(key, { ...ALL_EVENTS, beforeSeq, afterSeq: seq });
    if (page?.incarnation !== incarnation) throw notFoundError(key);
    // A page may be cut to one event; of none, the next one would be the same.
    if (page.events.length === 0) throw new ConfigurationError(`the driver gave no event after the ${seq}th`);
    size.adapt(page.events);
    for (const event of page.events) {
      seq++;
      yield { type: 'event', event };
    }
  }
  for (const toolCall of toolCalls) yield { type: 'toolCall', toolCall };
  yield { type: 'end', events: lastSeq, toolCalls: toolCalls.length };
}
