import { ConfigurationError, type Event, type SessionKey, type SessionRecord } from '@eventloom/core';
import { checkName, SESSION_RECORD_VERSION, weigh } from '@eventloom/core/internal';
import { notFoundError } from './errors.ts';
import { ALL_EVENTS, mergedView } from './session-view.ts';
import type { SessionDriver } from './session-driver.ts';

/** Yields the records of a session as of the first read: later events are not included. */
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
    // Without an event in a page, the next page would be the same one.
    if (page.events.length === 0) throw new ConfigurationError(`the driver returned no event after number ${seq}`);
    size.adapt(page.events);
    for (const event of page.events) {
      seq++;
      yield { type: 'event', event };
    }
  }
  for (const toolCall of toolCalls) yield { type: 'toolCall', toolCall };
  yield { type: 'end', events: lastSeq, toolCalls: toolCalls.length };
}

/** Maximum number of events of a page, because large events may follow small ones. */
const MAX_EVENTS = 64;
const FIRST_EVENTS = 8;
/** Maximum size of a page in characters. */
const MAX_WEIGHT = 4_000_000;

/**
 * Computes the number of events to read next, so that pages have about the same size with events of 100 bytes and of 10
 * MB.
 */
class EventPageSize {
  #events = FIRST_EVENTS;

  get events(): number {
    return this.#events;
  }

  /** Estimates the size of the next events from those of this page, and at most doubles the number of events. */
  adapt(page: readonly Event[]): void {
    let weight = 0;
    for (const event of page) weight += weigh(event);
    const fittingCount = Math.floor((page.length * MAX_WEIGHT) / weight);
    this.#events = Math.max(1, Math.min(fittingCount, this.#events * 2, MAX_EVENTS));
  }
}
