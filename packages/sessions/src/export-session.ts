import { SESSION_RECORD_VERSION, setOwn, type SessionKey, type SessionRecord } from '@eventloom/core';
import { ALL_EVENTS } from './event-window.ts';
import type { SessionDriver, StateEntry } from './session-driver.ts';
import { notFoundError } from './session-errors.ts';
import { mergedView } from './session-view.ts';

/** Events that are read at once. */
const PAGE = 500;

/** Everything that a driver has of a session, as of its first read: what is appended later is not in it. */
export async function* exportSession(
  driver: SessionDriver,
  key: SessionKey,
): AsyncGenerator<SessionRecord, void, undefined> {
  const session = await driver.readSession(key, { ...ALL_EVENTS, limit: 0 });
  const background = session && (await driver.readBackground(key));
  if (!session || background?.incarnation !== session.incarnation) throw notFoundError(key);
  const { appName, userId, sessionId: id, updatedAtMs, lastSeq, incarnation } = session;
  yield {
    type: 'session',
    version: SESSION_RECORD_VERSION,
    appName,
    userId,
    id,
    lastUpdateTime: updatedAtMs / 1000,
    initialState: ownView(background.initialState),
    state: mergedView(session.state),
  };
  for (let seq = 0; seq < lastSeq; seq += PAGE) {
    const beforeSeq = Math.min(seq + PAGE, lastSeq) + 1;
    const page = await driver.readEvents(key, { ...ALL_EVENTS, afterSeq: seq, beforeSeq });
    if (page?.incarnation !== incarnation) throw notFoundError(key);
    for (const event of page.events) yield { type: 'event', event };
  }
  for (const toolCall of background.toolCalls) yield { type: 'toolCall', toolCall };
  yield { type: 'end', events: lastSeq, toolCalls: background.toolCalls.length };
}

function ownView(entries: readonly StateEntry[]): Record<string, unknown> {
  const view: Record<string, unknown> = Object.create(null);
  for (const { key, value } of entries) setOwn(view, key, value);
  return view;
}
