import { InvalidRequestError } from '@eventloom/core';
import type { SessionPage, StoredSession } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';
import { ALL_EVENTS } from '../../session-view.ts';

export const listMutants: readonly SessionMutant[] = [
  brokenPage('list.of-user', 'lists sessions of all users', (page) => ({ ...page, userId: undefined })),
  brokenOrder(
    'list.newest-first',
    'lists the oldest sessions first',
    (one, other) => one.updatedAtMs - other.updatedAtMs,
  ),
  brokenOrder('list.newest-first', 'orders by id', (one, other) => compareUnits(one.sessionId, other.sessionId)),
  brokenOrder('list.tie-by-id', 'reverses sessions with equal times', (one, other) =>
    one.updatedAtMs === other.updatedAtMs
      ? compareUnits(other.sessionId, one.sessionId)
      : other.updatedAtMs - one.updatedAtMs,
  ),
  brokenOrder('list.tie-by-id', 'compares ids by locale', (one, other) =>
    one.sessionId.localeCompare(other.sessionId, 'en', { numeric: true }),
  ),
  brokenOrder('list.tie-by-id', 'compares the UTF-16 units of ids', (one, other) =>
    compareUnits(one.sessionId, other.sessionId),
  ),
  brokenOrder('list.tie-by-id', 'compares the UTF-16 units of user ids', (one, other) =>
    one.sessionId === other.sessionId ? compareUnits(one.userId, other.userId) : 0,
  ),
  brokenDriver('list.paging', 'leaves the user out of the cursor', (driver) => ({
    listSessions: ({ after, ...page }) =>
      driver
        .listSessions({ ...page, after: undefined, limit: 1000 })
        .filter(
          ({ updatedAtMs, sessionId }) =>
            !after ||
            updatedAtMs < after.updatedAtMs ||
            (updatedAtMs === after.updatedAtMs && sessionId > after.sessionId),
        )
        .slice(0, page.limit),
  })),
  brokenDriver('list.paging', 'repeats the last entry of the previous page', (driver) => ({
    listSessions: ({ after, ...page }) =>
      driver.listSessions({ ...page, after: after && { ...after, userId: after.userId.slice(0, -1) } }),
  })),
  brokenService('list.paging', 'returns a cursor with the last page', (service) => ({
    async listSessions(request) {
      const page = await service.listSessions(request);
      return page.sessions.length === request.limit ? { nextCursor: 'WzAsIngiLCJ5Il0', ...page } : page;
    },
  })),
  brokenService('list.limit', 'refuses a limit over 1,000', (service) => ({
    listSessions(request) {
      if ((request.limit ?? 0) > 1000) throw new InvalidRequestError('limit: is over 1,000');
      return service.listSessions(request);
    },
  })),
  brokenService('list.default-limit', 'returns 100 by default', (service) => ({
    listSessions: (request) => service.listSessions({ limit: 100, ...request }),
  })),
  brokenService('list.stable-under-inserts', 'uses page numbers as cursors', (service) => ({
    async listSessions({ cursor = '0', limit = 1000, ...request }) {
      const { sessions } = await service.listSessions(request);
      const end = Number(cursor) + limit;
      const page = sessions.slice(Number(cursor), end);
      return end < sessions.length ? { sessions: page, nextCursor: String(end) } : { sessions: page };
    },
  })),
  brokenListed('list.merged-state', 'lists only session state', (stored) => ({
    ...stored,
    state: stored.state.filter(({ scope }) => scope === 'session'),
  })),
  brokenService('list.merged-state', 'returns the same state objects again', (service) => {
    const states = new Map<string, Record<string, unknown>>();
    return {
      async listSessions(request) {
        const page = await service.listSessions(request);
        for (const { id, state } of page.sessions) if (!states.has(id)) states.set(id, state);
        return {
          ...page,
          sessions: page.sessions.map((session) => ({ ...session, state: states.get(session.id) ?? {} })),
        };
      },
    };
  }),
  brokenDriver('list.no-events', 'lists events', (driver) => ({
    listSessions: (page) =>
      driver.listSessions(page).map((stored) => ({
        ...stored,
        events: driver.readSession(stored, ALL_EVENTS)?.events ?? [],
      })),
  })),
  brokenListed('list.no-events', 'omits lastSeq', (stored) => ({ ...stored, lastSeq: 0 })),
  brokenService('list.bad-cursor-refused', 'starts from the beginning for an invalid cursor', (service) => ({
    listSessions: (request) =>
      service.listSessions(request).catch(() => service.listSessions({ ...request, cursor: undefined })),
  })),
  brokenService('list.bad-limit-refused', 'accepts an invalid limit', (service) => ({
    listSessions: ({ limit = 1000, ...request }) =>
      service.listSessions({ ...request, limit: Math.min(1000, Math.max(1, Math.ceil(limit) || 1)) }),
  })),
];

function brokenPage(breaks: string, how: string, change: (page: SessionPage) => SessionPage): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ listSessions: (page) => driver.listSessions(change(page)) }));
}

function brokenListed(breaks: string, how: string, change: (stored: StoredSession) => StoredSession): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ listSessions: (page) => driver.listSessions(page).map(change) }));
}

function brokenOrder(
  breaks: string,
  how: string,
  compare: (one: StoredSession, other: StoredSession) => number,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    listSessions: (page) => driver.listSessions(page).toSorted(compare),
  }));
}

function compareUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
