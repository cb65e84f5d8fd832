import { expect, test } from 'vitest';
import { compareText } from './compare-text.ts';
import { selectOpenRunPage, selectSessionPage } from './select-page.ts';

const MANY = 3000;

/** Sessions of seven users in random order; some have the same time. */
const sessions = Array.from({ length: MANY }, (_, index) => {
  const place = (index * 1999) % MANY;
  return {
    appName: 'app',
    userId: `user ${place % 7}`,
    sessionId: `session ${place % 500}`,
    updatedAtMs: Math.floor(place / 90),
    epoch: 0,
    leaseUntilMs: 0,
    openRun: place % 3 === 0 ? undefined : { invocationId: `e-${place}`, resumable: true, attempts: 1 },
  };
});

test.each([1, 2, 40, 200, 1001, 5000])('pages of %d sessions are slices of the sorted list', (limit) => {
  for (const userId of [undefined, 'user 3']) {
    const sorted = sessions
      .filter((session) => userId === undefined || session.userId === userId)
      .sort(
        (one, other) =>
          other.updatedAtMs - one.updatedAtMs ||
          compareText(one.sessionId, other.sessionId) ||
          compareText(one.userId, other.userId),
      );
    for (const start of [0, 1, 333]) {
      const page = selectSessionPage(sessions, { userId, limit, after: sorted[start - 1] });
      expect(page).toEqual(sorted.slice(start, start + limit));
    }
  }
});

test.each([1, 40, 1001])('pages of %d open runs are slices of the sorted list', (limit) => {
  const sorted = sessions
    .filter(({ openRun }) => openRun)
    .sort((one, other) => compareText(one.userId, other.userId) || compareText(one.sessionId, other.sessionId));
  const names = sorted.map(({ userId, sessionId }) => `${userId} ${sessionId}`);
  expect(new Set(names).size).toBe(names.length);
  for (const start of [0, 1, 333]) {
    const page = selectOpenRunPage(sessions, { limit, after: sorted[start - 1] });
    expect(page.map(({ userId, sessionId }) => `${userId} ${sessionId}`)).toEqual(names.slice(start, start + limit));
  }
});

test('a page of an empty list is empty', () => {
  expect(selectSessionPage([], { userId: undefined, limit: 5, after: undefined })).toEqual([]);
  expect(selectOpenRunPage([], { limit: 5, after: undefined })).toEqual([]);
});
