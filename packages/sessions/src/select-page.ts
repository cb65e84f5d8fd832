import type { OpenRun, SessionKey } from '@eventloom/core';
import { compareText } from './compare-text.ts';
import type { OpenRunPage, OpenRunPosition, SessionPage, SessionPosition } from './session-driver.ts';
import type { SessionHold } from './session-hold.ts';

/** Minimum number of items that are sorted at once. */
const MIN_BATCH = 64;

/** Selects a page of a listing from all sessions of an app, in any order. Reads each once, and sorts few of them. */
export function selectSessionPage<T extends SessionPosition>(
  sessions: Iterable<T>,
  { userId, limit, after }: Pick<SessionPage, 'userId' | 'limit' | 'after'>,
): T[] {
  return selectFirst(
    sessions,
    limit,
    compareSessions,
    (session) => (userId === undefined || session.userId === userId) && (!after || compareSessions(after, session) < 0),
  );
}

/** Selects a page of open runs. The given sessions of the app include all that have an open run. */
export function selectOpenRunPage(
  sessions: Iterable<SessionKey & SessionHold>,
  { limit, after }: Pick<OpenRunPage, 'limit' | 'after'>,
): OpenRun[] {
  const found = selectFirst(
    sessions,
    limit,
    compareOpenRuns,
    (session) => session.openRun !== undefined && (!after || compareOpenRuns(after, session) < 0),
  );
  return found.flatMap(({ appName, userId, sessionId, openRun, leaseUntilMs }) =>
    openRun ? [{ appName, userId, sessionId, ...openRun, heldUntilMs: leaseUntilMs }] : [],
  );
}

/** Returns the first matching items. A full batch is sorted and cut to the limit; later items that sort after its last one are skipped. */
function selectFirst<T>(
  items: Iterable<T>,
  limit: number,
  compare: (one: T, other: T) => number,
  matches: (item: T) => boolean,
): T[] {
  const batch = Math.max(MIN_BATCH, limit * 2);
  let first: T[] = [];
  let last: T | undefined;
  for (const item of items) {
    if ((last !== undefined && compare(item, last) > 0) || !matches(item)) continue;
    if (first.push(item) < batch) continue;
    first = first.sort(compare).slice(0, limit);
    last = first.at(-1);
  }
  return first.sort(compare).slice(0, limit);
}

function compareSessions(one: SessionPosition, other: SessionPosition): number {
  return (
    other.updatedAtMs - one.updatedAtMs ||
    compareText(one.sessionId, other.sessionId) ||
    compareText(one.userId, other.userId)
  );
}

function compareOpenRuns(one: OpenRunPosition, other: OpenRunPosition): number {
  return compareText(one.userId, other.userId) || compareText(one.sessionId, other.sessionId);
}
