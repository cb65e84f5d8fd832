import { type Event, InvalidRequestError, type ListEventsRequest, SessionNotFoundError } from '@eventloom/core';
import { importEvents } from './records.ts';
import type { SessionRule, Subject } from './session-rule.ts';
import { appendAll, KEY, OTHER_KEY, readSession, stateEvent } from './samples.ts';
import { withTimes } from './window-samples.ts';

const ORDERS = ['asc', 'desc'] as const;

/** Rules about reading events in pages. */
export const eventPageRules: readonly SessionRule[] = [
  {
    id: 'events.pages',
    title: 'Consecutive pages have every event once, in either order, and the last page has no cursor.',
    async check(subject) {
      await withTimes(subject, [3, 1, 2, [9, 2], 5, 4, 6]);
      const names = ['1', '2', '3', '4', '5', '6', '7'];
      for (const order of ORDERS) {
        const expected = order === 'asc' ? names : names.toReversed();
        for (const limit of [1, 2, 3, 6, 7, 8]) {
          const pages = await pagesOf(subject, { ...KEY, order, limit });
          const seen = pages.flat().map(({ id }) => id);
          subject.expect.same(`the events in pages of ${limit}, ${order}`, seen, expected);
          subject.expect.same(`the number of pages of ${limit}, ${order}`, pages.length, Math.ceil(7 / limit));
        }
      }
      const { events } = await subject.service.listEvents(KEY);
      subject.expect.same(
        'the default order',
        events.map(({ id }) => id),
        names,
      );
    },
  },
  {
    id: 'events.whole',
    title: 'Listed events equal those of getSession.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await service.appendEvent({ session, event: stateEvent('one', { own: [1, null], 'app:motto': 'go' }, ['gone']) });
      await appendAll(service, session, ['two', 'three']);
      const { events } = await readSession(subject);
      expect.same('the events', (await service.listEvents(KEY)).events, events);
      expect.same('backwards', (await service.listEvents({ ...KEY, order: 'desc' })).events, events.toReversed());
    },
  },
  {
    id: 'events.none',
    title: 'A session without events has one empty page.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      for (const order of ORDERS)
        expect.same(`the page, ${order}`, await service.listEvents({ ...KEY, order }), { events: [] });
    },
  },
  {
    id: 'events.limit',
    title: 'A page has 100 events by default, and at most 1,000 with a higher limit.',
    async check(subject) {
      await importEvents(subject, KEY, 1001);
      const sizes = async (request: Partial<ListEventsRequest>) =>
        (await pagesOf(subject, { ...KEY, ...request })).map(({ length }) => length);
      for (const order of ORDERS) {
        const { events } = await subject.service.listEvents({ ...KEY, order });
        subject.expect.same(`the default page size, ${order}`, events.length, 100);
        subject.expect.same(`the pages of 1,000, ${order}`, await sizes({ order, limit: 1000 }), [1000, 1]);
        subject.expect.same(`the pages of 5,000, ${order}`, await sizes({ order, limit: 5000 }), [1000, 1]);
      }
    },
  },
  {
    id: 'events.while-appending',
    title:
      'Events that are appended between two pages are listed last in asc and not in desc; the others are listed once.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['a', 'b', 'c', 'd']);
      for (const [order, added, expected] of [
        ['asc', ['e', 'f'], ['a', 'b', 'c', 'd', 'e', 'f']],
        ['desc', ['g', 'h'], ['f', 'e', 'd', 'c', 'b', 'a']],
      ] as const) {
        const seen: string[] = [];
        let cursor: string | undefined;
        for (const id of [...added, undefined]) {
          const page = await service.listEvents({ ...KEY, order, limit: 2, cursor });
          seen.push(...page.events.map((event) => event.id));
          cursor = page.nextCursor;
          if (cursor === undefined) break;
          if (id !== undefined) await appendAll(service, session, [id]);
        }
        expect.same(`the events seen, ${order}`, seen, expected);
        expect.same(`the last cursor, ${order}`, cursor, undefined);
      }
    },
  },
  {
    id: 'events.missing-session',
    title: 'Listing the events of a session that does not exist or was deleted is SessionNotFoundError.',
    async check({ service, expect }) {
      await expect.rejects('listing a missing session', service.listEvents(KEY), SessionNotFoundError);
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['one', 'two']);
      await service.createSession(OTHER_KEY);
      const { nextCursor } = await service.listEvents({ ...KEY, limit: 1 });
      await service.deleteSession(KEY);
      await expect.rejects('listing a deleted session', service.listEvents(KEY), SessionNotFoundError);
      const next = service.listEvents({ ...KEY, limit: 1, cursor: nextCursor });
      await expect.rejects('the next page of a deleted session', next, SessionNotFoundError);
    },
  },
  {
    id: 'events.recreated',
    title: 'The next page of a session that was deleted and created again is SessionNotFoundError.',
    async check({ service, expect }) {
      for (const order of ORDERS) {
        const session = await service.createSession(KEY);
        await appendAll(service, session, ['a', 'b', 'c']);
        const { nextCursor } = await service.listEvents({ ...KEY, order, limit: 1 });
        await service.deleteSession(KEY);
        const renewed = await service.createSession(KEY);
        await appendAll(service, renewed, ['d', 'e', 'f']);
        const next = service.listEvents({ ...KEY, order, limit: 1, cursor: nextCursor });
        await expect.rejects(`the next page, ${order}`, next, SessionNotFoundError);
        expect.same(
          'the number of events from the start',
          (await service.listEvents({ ...KEY, order })).events.length,
          3,
        );
        await service.deleteSession(KEY);
      }
    },
  },
  {
    id: 'events.bad-cursor-refused',
    title: 'A cursor that no page of this order returned is InvalidRequestError.',
    async check({ service, expect }) {
      const session = await service.createSession(KEY);
      await service.createSession(OTHER_KEY);
      await appendAll(service, session, ['a', 'b', 'c']);
      const cursors = await Promise.all(
        ORDERS.map(async (order) => (await service.listEvents({ ...KEY, order, limit: 1 })).nextCursor),
      );
      const [asc, desc] = cursors.map((cursor) => expect.present('the cursor', cursor)) as [string, string];
      const listed = (await service.listSessions({ ...KEY, limit: 1 })).nextCursor;
      const other = expect.present('the cursor of a listing of sessions', listed);
      const nonsense = [
        '',
        'nonsense',
        '0',
        '✅',
        btoa('[1]'),
        btoa('{}'),
        asc.slice(1),
        asc.slice(0, -2),
        `${asc}AAAA`,
      ];
      for (const cursor of [...nonsense, desc, other]) {
        const page = service.listEvents({ ...KEY, cursor });
        await expect.rejects(`the cursor ${JSON.stringify(cursor)}`, page, InvalidRequestError);
      }
      const backwards = service.listEvents({ ...KEY, order: 'desc', cursor: asc });
      await expect.rejects('a cursor of the other order', backwards, InvalidRequestError);
    },
  },
  {
    id: 'events.bad-limit-refused',
    title: 'A limit that is not a positive integer and an unknown order are InvalidRequestError.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      for (const limit of [0, -1, 1.5, Number.NaN, Infinity]) {
        await expect.rejects(`the limit ${limit}`, service.listEvents({ ...KEY, limit }), InvalidRequestError);
      }
      const sideways = service.listEvents({ ...KEY, order: 'sideways' as never });
      await expect.rejects('an unknown order', sideways, InvalidRequestError);
    },
  },
  {
    id: 'events.own-copy',
    title: 'Changing a page does not change the stored events.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['one', 'two']);
      const before = await readSession(subject);
      for (const order of ORDERS) {
        const { events } = await service.listEvents({ ...KEY, order });
        // An event may be frozen; it must only stay unchanged.
        Reflect.set(expect.present('the text', events[0]?.content?.parts?.[0]), 'text', 'rewritten');
        events.pop();
      }
      expect.same('the stored session', await readSession(subject), before);
      for (const order of ORDERS) {
        const { events } = await service.listEvents({ ...KEY, order });
        expect.same(`a page, ${order}`, order === 'asc' ? events : events.toReversed(), before.events);
      }
    },
  },
];

async function pagesOf({ service, expect }: Subject, request: ListEventsRequest): Promise<Event[][]> {
  const pages: Event[][] = [];
  let cursor: string | undefined;
  do {
    const page = await service.listEvents({ ...request, cursor });
    pages.push(page.events);
    cursor = page.nextCursor;
    expect.true('the listing ends', pages.length < 100);
  } while (cursor !== undefined);
  return pages;
}
