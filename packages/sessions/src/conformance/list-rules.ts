import { InvalidRequestError, type ListSessionsRequest, type Session } from '@eventloom/core';
import type { SessionRule, Subject } from './session-rule.ts';
import { appendAll, KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

const OWNER = { appName: KEY.appName, userId: KEY.userId };

/** Rules about listing sessions in pages. */
export const listRules: readonly SessionRule[] = [
  {
    id: 'list.of-user',
    title: 'A listing has the sessions of the user in the app, or of all users of the app if the request names none.',
    async check(subject) {
      const { service, platform, expect } = subject;
      for (const [appName, userId, sessionId] of [
        ['app', 'user', 'mine'],
        ['app', 'stranger', 'theirs'],
        ['other', 'user', 'elsewhere'],
      ] as const) {
        await service.createSession({ appName, userId, sessionId });
        platform.advance(1);
      }
      expect.same('the sessions of the user', await listAll(subject, OWNER), ['mine']);
      expect.same('the sessions of the app', await listAll(subject, { appName: 'app' }), ['theirs', 'mine']);
      expect.same('the sessions of a user without any', await listAll(subject, { ...OWNER, userId: 'nobody' }), []);
      expect.same('the sessions of an app without any', await listAll(subject, { appName: 'nothing' }), []);
    },
  },
  {
    id: 'list.newest-first',
    title: 'The session with the latest update is listed first; the creation of a session counts as an update.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const sessions: Session[] = [];
      for (const sessionId of ['a', 'b', 'c']) {
        sessions.push(await service.createSession({ ...KEY, sessionId }));
        platform.advance(1000);
      }
      expect.same('the order of creation', await listAll(subject, OWNER), ['c', 'b', 'a']);
      for (const session of sessions.slice(0, 2)) {
        await appendAll(service, session, ['one']);
        platform.advance(1000);
      }
      expect.same('the order of updates', await listAll(subject, OWNER), ['b', 'a', 'c']);
    },
  },
  {
    id: 'list.tie-by-id',
    title: 'Sessions with the same update time are ordered by session id and then by user id, by code points.',
    async check(subject) {
      const { service, expect } = subject;
      const expected = ['10', '9', 'B', 'a', 'ab', 'b', 'é', '\ufb01', '🧵', '🧵 2'];
      for (const sessionId of expected.toReversed()) await service.createSession({ ...KEY, sessionId });
      expect.same('one page', await listAll(subject, OWNER), expected);
      expect.same('pages of two', await listAll(subject, { ...OWNER, limit: 2 }), expected);
      const users = ['B', 'a', '\ufb01', '🧵'];
      for (const userId of users.toReversed())
        await service.createSession({ appName: 'other', userId, sessionId: 'one' });
      for (const limit of [1000, 1]) {
        const sessions = (await pagesOf(subject, { appName: 'other', limit })).flat();
        const listed = sessions.map(({ userId }) => userId);
        expect.same(`the users in pages of ${limit}`, listed, users);
      }
    },
  },
  {
    id: 'list.paging',
    title: 'Consecutive pages have every session once, and the last page has no cursor.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const expected: string[] = [];
      for (const index of Array.from({ length: 12 }).keys()) {
        // Pairs of sessions of two users have the same time.
        for (const userId of ['one', 'two']) {
          await service.createSession({ appName: 'app', userId, sessionId: `session ${index}` });
        }
        if (index % 3 === 2) platform.advance(1000);
      }
      for (const { id, userId } of (await service.listSessions({ appName: 'app' })).sessions) {
        expected.push(`${userId} ${id}`);
      }
      expect.same('the number of them', new Set(expected).size, 24);
      for (const limit of [1, 5, 8, 23, 24, 25]) {
        const pages = await pagesOf(subject, { appName: 'app', limit });
        const names = pages.flat().map(({ id, userId }) => `${userId} ${id}`);
        expect.same(`the sessions in pages of ${limit}`, names, expected);
        expect.same(`the number of pages of ${limit}`, pages.length, Math.ceil(24 / limit));
      }
    },
  },
  {
    id: 'list.limit',
    title: 'A page has at most limit sessions, and at most 1,000 with a higher limit.',
    async check({ service, expect }) {
      for (const sessionId of ['a', 'b', 'c']) await service.createSession({ ...KEY, sessionId });
      for (const [limit, count] of [
        [1, 1],
        [2, 2],
        [3, 3],
        [1000, 3],
        [1_000_000, 3],
      ] as const) {
        const { sessions } = await service.listSessions({ ...OWNER, limit });
        expect.same(`the number of sessions with limit ${limit}`, sessions.length, count);
      }
    },
  },
  {
    id: 'list.default-limit',
    title: 'A page has up to 1,000 sessions by default.',
    async check(subject) {
      const { service, expect } = subject;
      for (const index of Array.from({ length: 1001 }).keys()) {
        await service.createSession({ ...OWNER, sessionId: `session ${index}` });
      }
      const sizes = async (request: ListSessionsRequest) =>
        (await pagesOf(subject, request)).map(({ length }) => length);
      expect.same('the sizes of the pages', await sizes(OWNER), [1000, 1]);
      expect.same('the sizes with a higher limit', await sizes({ ...OWNER, limit: 5000 }), [1000, 1]);
    },
  },
  {
    id: 'list.stable-under-inserts',
    title: 'Sessions that are created, updated or deleted between two pages neither repeat nor hide others.',
    async check({ service, platform, expect }) {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
      for (const sessionId of ids.toReversed()) {
        await service.createSession({ ...KEY, sessionId });
        platform.advance(1000);
      }
      const first = await service.listSessions({ ...OWNER, limit: 2 });
      for (const sessionId of ['new 1', 'new 2', 'new 3']) await service.createSession({ ...KEY, sessionId });
      await service.deleteSession({ ...KEY, sessionId: 'a' });
      await service.deleteSession({ ...KEY, sessionId: 'b' });
      await service.deleteSession({ ...KEY, sessionId: 'd' });
      const second = await service.listSessions({ ...OWNER, limit: 2, cursor: first.nextCursor });
      const third = await service.listSessions({ ...OWNER, limit: 2, cursor: second.nextCursor });
      const seen = [first, second, third].flatMap(({ sessions }) => sessions.map(({ id }) => id));
      expect.same('the sessions seen', seen, ['a', 'b', 'c', 'e', 'f']);
      expect.same('the cursor of the last page', third.nextCursor, undefined);
    },
  },
  {
    id: 'list.merged-state',
    title: 'Listed sessions have their merged state, and changing it does not change the stored one.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const shared = { 'user:name': 'Ada', 'app:list': [1] };
      await service.createSession({ ...KEY, sessionId: 'a', state: { own: 'a', ...shared } });
      platform.advance(1);
      const other = await service.createSession({ ...KEY, sessionId: 'b' });
      await service.appendEvent({ session: other, event: stateEvent('one', { own: ['b'] }) });
      for (const { state } of (await service.listSessions(OWNER)).sessions)
        (state['app:list'] as number[] | undefined)?.push(2);
      const { sessions } = await service.listSessions(OWNER);
      expect.same(
        'the states',
        sessions.map(({ state }) => state),
        [
          { own: ['b'], ...shared },
          { own: 'a', ...shared },
        ],
      );
    },
  },
  {
    id: 'list.no-events',
    title: 'Listed sessions equal those of getSession, without events.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      await appendAll(service, session, ['one', 'two']);
      const { sessions } = await service.listSessions(OWNER);
      expect.same('the listed sessions', sessions, [{ ...(await readSession(subject)), events: [] }]);
      await service.appendEvent({ session: sessions[0] ?? session, event: sampleEvent('three') });
      expect.same('lastSeq after an append to it', sessions[0]?.lastSeq, 3);
    },
  },
  {
    id: 'list.bad-cursor-refused',
    title: 'A cursor that no listing returned is InvalidRequestError.',
    async check({ service, expect }) {
      for (const sessionId of ['a', 'b', 'c']) await service.createSession({ ...KEY, sessionId });
      const { nextCursor } = await service.listSessions({ ...OWNER, limit: 1 });
      const good = expect.present('the cursor', nextCursor);
      const bad = [
        '',
        'nonsense',
        good.slice(1),
        good.slice(0, -2),
        `${good}AAAA`,
        '0',
        'null',
        btoa('[1]'),
        btoa('{}'),
        '✅',
      ];
      for (const cursor of bad) {
        const listing = service.listSessions({ ...OWNER, cursor });
        await expect.rejects(`the cursor ${JSON.stringify(cursor)}`, listing, InvalidRequestError);
      }
    },
  },
  {
    id: 'list.bad-limit-refused',
    title: 'A limit that is not a positive integer is InvalidRequestError.',
    async check({ service, expect }) {
      for (const limit of [0, -1, 1.5, Number.NaN, Infinity]) {
        const listing = service.listSessions({ ...OWNER, limit });
        await expect.rejects(`the limit ${limit}`, listing, InvalidRequestError);
      }
    },
  },
];

async function pagesOf({ service, expect }: Subject, request: ListSessionsRequest): Promise<Session[][]> {
  const pages: Session[][] = [];
  let cursor: string | undefined;
  do {
    const page = await service.listSessions({ ...request, cursor });
    pages.push(page.sessions);
    cursor = page.nextCursor;
    expect.true('the listing ends', pages.length < 100);
  } while (cursor !== undefined);
  return pages;
}

async function listAll(subject: Subject, request: ListSessionsRequest): Promise<string[]> {
  return (await pagesOf(subject, request)).flat().map(({ id }) => id);
}
