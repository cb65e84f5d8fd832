import { type Event, InvalidRequestError, type ListEventsRequest, SessionNotFoundError } from '@eventloom/core';
import type { StoredEventWindow } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const eventPageMutants: readonly SessionMutant[] = [
  brokenService('events.pages', 'supports one order only', (service) => ({
    listEvents: (request) => service.listEvents({ ...request, order: undefined }),
  })),
  brokenService('events.pages', 'sorts events by time', (service) => ({
    async listEvents(request) {
      const page = await service.listEvents(request);
      return { ...page, events: page.events.toSorted((one, other) => one.timestamp - other.timestamp) };
    },
  })),
  brokenService('events.pages', 'returns a cursor with the last page', (service) => ({
    async listEvents(request) {
      const page = await service.listEvents(request);
      return page.events.length === request.limit && request.cursor ? { nextCursor: request.cursor, ...page } : page;
    },
  })),
  brokenService('events.pages', 'lists in descending order by default', (service) => ({
    listEvents: (request) => service.listEvents({ order: 'desc', ...request }),
  })),
  brokenFound('events.whole', 'lists events without their state', (found) => ({
    ...found,
    events: found.events.map((event) => ({ ...event, actions: { ...event.actions, stateDelta: {} } })),
  })),
  brokenService('events.none', 'returns a cursor with an empty page', (service) => ({
    async listEvents(request) {
      const page = await service.listEvents(request);
      return page.events.length === 0 ? { ...page, nextCursor: 'more' } : page;
    },
  })),
  brokenService('events.none', 'throws for a session without events', (service) => ({
    async listEvents(request) {
      const page = await service.listEvents(request);
      if (page.events.length === 0) throw new SessionNotFoundError('the session has no events');
      return page;
    },
  })),
  brokenService('events.limit', 'returns 50 by default', (service) => ({
    listEvents: ({ limit = 50, ...request }) => service.listEvents({ ...request, limit }),
  })),
  brokenService('events.limit', 'refuses a limit over 1,000', (service) => ({
    listEvents(request) {
      if ((request.limit ?? 0) > 1000) throw new InvalidRequestError('limit: is over 1,000');
      return service.listEvents(request);
    },
  })),
  brokenService('events.while-appending', 'numbers pages from the newest event', (service) => ({
    async listEvents({ order, limit = 100, cursor = '0', ...key }) {
      const events = await allEvents(service, key);
      if (order === 'desc') events.reverse();
      const end = Number(cursor) + limit;
      const page = events.slice(Number(cursor), end);
      return end < events.length ? { events: page, nextCursor: String(end) } : { events: page };
    },
  })),
  brokenFound('events.while-appending', "ends at the session's first last event", (found, seen) => ({
    ...found,
    lastSeq: Math.min(found.lastSeq, (seen.lastSeq ??= found.lastSeq)),
  })),
  brokenService('events.missing-session', 'returns an empty page for a missing session', (service) => ({
    listEvents: (request) =>
      service.listEvents(request).catch((error: unknown) => {
        if (SessionNotFoundError.isInstance(error)) return { events: [] };
        throw error;
      }),
  })),
  brokenFound('events.recreated', 'treats a new session as the deleted one', (found) => ({
    ...found,
    incarnation: 'same',
  })),
  brokenService('events.bad-cursor-refused', 'starts from the beginning for an invalid cursor', (service) => ({
    listEvents: (request) =>
      service.listEvents(request).catch(() => service.listEvents({ ...request, cursor: undefined })),
  })),
  brokenService('events.bad-cursor-refused', 'accepts a cursor of the other order', (service) => ({
    listEvents: (request) =>
      service
        .listEvents(request)
        .catch(() => service.listEvents({ ...request, order: request.order === 'desc' ? 'asc' : 'desc' })),
  })),
  brokenService('events.bad-limit-refused', 'accepts an invalid limit', (service) => ({
    listEvents: ({ limit = 100, ...request }) =>
      service.listEvents({ ...request, limit: Math.min(1000, Math.max(1, Math.ceil(limit) || 1)) }),
  })),
  brokenService('events.bad-limit-refused', 'treats an unknown order as asc', (service) => ({
    listEvents: ({ order, ...request }) => service.listEvents({ ...request, order: order === 'desc' ? 'desc' : 'asc' }),
  })),
  brokenService('events.own-copy', 'returns the same page object again', (service) => {
    const pages = new Map<string, ReturnType<typeof service.listEvents>>();
    return {
      listEvents(request) {
        const name = JSON.stringify(request);
        const page = pages.get(name) ?? service.listEvents(request);
        pages.set(name, page);
        return page;
      },
    };
  }),
];

/** Creates a mutant that changes the events found for a page. `seen` has the pages that were returned before. */
function brokenFound(
  breaks: string,
  how: string,
  change: (found: StoredEventWindow, seen: { lastSeq?: number }) => StoredEventWindow,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => {
    const seen = {};
    return {
      readEvents(key, window) {
        const found = driver.readEvents(key, window);
        return found && change(found, seen);
      },
    };
  });
}

async function allEvents(
  service: { readonly getSession: (key: ListEventsRequest) => Promise<{ readonly events: Event[] } | undefined> },
  key: ListEventsRequest,
): Promise<Event[]> {
  return (await service.getSession(key))?.events ?? [];
}
