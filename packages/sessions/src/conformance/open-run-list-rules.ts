import { InvalidRequestError, type SessionKey } from '@eventloom/core';
import { leaveRun, openRun, openRunPages } from './open-runs.ts';
import { KEY, OTHER_KEY, sampleEvent } from './samples.ts';
import type { SessionRule, Subject } from './session-rule.ts';

const { appName } = KEY;

/** Rules about listing open runs in pages. */
export const openRunListRules: readonly SessionRule[] = [
  {
    id: 'open.held-until',
    title:
      'heldUntilMs of a listed run is the time at which the lease of its session expires, and is not in the future if there is no lease.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await openRun(subject, 'e-1', { ttlMs: 1000 });
      expect.same('the time under a new lease', await heldUntil(subject), platform.now() + 1000);
      platform.advance(900);
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      expect.same('the time after an append', await heldUntil(subject), platform.now() + 1000);
      platform.advance(900);
      await service.renewLease(lease);
      expect.same('the time after a renewal', await heldUntil(subject), platform.now() + 1000);
      await service.releaseLease(lease, { keepRunOpen: true });
      expect.true('the time is not in the future after a release', (await heldUntil(subject)) <= platform.now());
      const other = await service.acquireLease({ ...KEY, ttlMs: 2000 });
      expect.same('the time while another caller holds the session', await heldUntil(subject), platform.now() + 2000);
      await service.releaseLease(other);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      expect.true('the time is not in the future after an expiry', (await heldUntil(subject)) <= platform.now());
    },
  },
  {
    id: 'open.of-app',
    title: 'A listing has the open runs of all users of the app, but not of other apps.',
    async check(subject) {
      const { service, expect } = subject;
      await leaveRun(subject, KEY, 'e-1');
      await leaveRun(subject, { ...KEY, userId: 'stranger' }, 'e-2');
      await leaveRun(subject, { ...KEY, appName: 'other app' }, 'e-3');
      await service.createSession(OTHER_KEY);
      const listed = async (name: string) => (await service.listOpenRuns({ appName: name })).runs.map(showRun);
      expect.same('the sessions of the app', await listed(appName), [
        'app stranger session e-2',
        'app user session e-1',
      ]);
      expect.same('the open runs of the other app', await listed('other app'), ['other app user session e-3']);
      expect.same('the sessions of an app without any', await listed('nothing'), []);
      await expect.rejects('an app without a name', service.listOpenRuns({ appName: '' }), InvalidRequestError);
    },
  },
  {
    id: 'open.order',
    title: 'Open runs are ordered by user id and then by session id, by code points.',
    async check(subject) {
      const { expect } = subject;
      const userIds = ['10', '9', 'B', 'a', 'ab', 'é', '\ufb01', '🧵'];
      const sessionIds = ['Z', 'a', '\ufb01', '🧵', '🧵 2'];
      const keys = userIds.flatMap((userId) => sessionIds.map((sessionId) => ({ appName, userId, sessionId })));
      for (const key of keys.toReversed()) await leaveRun(subject, key, 'e-1');
      const expected = keys.map((key) => showRun({ ...key, invocationId: 'e-1' }));
      for (const limit of [1000, 3]) {
        const runs = (await openRunPages(subject, { limit })).flat();
        expect.same(`the runs in pages of ${limit}`, runs.map(showRun), expected);
      }
    },
  },
  {
    id: 'open.paging',
    title: 'Consecutive pages have every open run once, and the last page has no cursor.',
    async check(subject) {
      const { expect } = subject;
      const sessionIds = Array.from({ length: 6 }, (_, index) => `session ${index}`);
      for (const userId of ['one', 'two']) {
        for (const sessionId of sessionIds) await leaveRun(subject, { appName, userId, sessionId }, 'e-1');
      }
      const [expected = []] = await openRunPages(subject);
      expect.same('the number of them', new Set(expected.map(showRun)).size, 12);
      for (const limit of [1, 5, 6, 11, 12, 13, 1_000_000]) {
        const pages = await openRunPages(subject, { limit });
        expect.same(`the runs in pages of ${limit}`, pages.flat(), expected);
        expect.same(`the number of pages of ${limit}`, pages.length, Math.ceil(12 / limit));
      }
    },
  },
  {
    id: 'open.default-limit',
    title: 'A page has up to 1,000 open runs by default, and at most 1,000 with a higher limit.',
    async check(subject) {
      const { expect } = subject;
      for (const index of Array.from({ length: 1001 }).keys()) {
        const key = { ...KEY, sessionId: `session ${index}` };
        await openRun(subject, 'e-1', { ...key, create: true });
      }
      for (const limit of [undefined, 5000]) {
        const pages = await openRunPages(subject, { limit });
        const sizes = pages.map(({ length }) => length);
        expect.same(`the sizes of the pages with the limit ${limit}`, sizes, [1000, 1]);
      }
    },
  },
  {
    id: 'open.stable-under-changes',
    title: 'Runs that begin or end between two pages neither repeat nor hide others.',
    async check(subject) {
      const { service, expect } = subject;
      for (const sessionId of ['b', 'd', 'f', 'h']) await leaveRun(subject, { ...KEY, sessionId }, 'e-1');
      const first = await service.listOpenRuns({ appName, limit: 2 });
      for (const sessionId of ['a', 'c', 'e']) await leaveRun(subject, { ...KEY, sessionId }, 'e-2');
      await service.deleteSession({ ...KEY, sessionId: 'd' });
      const second = await service.listOpenRuns({ appName, limit: 3, cursor: first.nextCursor });
      const seen = [first, second].map(({ runs }) => runs.map(({ sessionId }) => sessionId));
      expect.same('the sessions of the pages', seen, [
        ['b', 'd'],
        ['e', 'f', 'h'],
      ]);
      expect.same('the cursor of the last page', second.nextCursor, undefined);
    },
  },
  {
    id: 'open.bad-cursor-refused',
    title: 'A cursor that no listing of open runs returned is InvalidRequestError.',
    async check(subject) {
      const { service, expect } = subject;
      for (const sessionId of ['a', 'b', 'c']) await leaveRun(subject, { ...KEY, sessionId }, 'e-1');
      const { nextCursor } = await service.listOpenRuns({ appName, limit: 1 });
      const good = expect.present('the cursor', nextCursor);
      const ofSessions = expect.present(
        'the cursor of a listing of sessions',
        (await service.listSessions({ appName, limit: 1 })).nextCursor,
      );
      for (const cursor of ['', 'nonsense', good.slice(1), `${good}AAAA`, 'null', btoa('[1,2]'), ofSessions, '✅']) {
        const listing = service.listOpenRuns({ appName, cursor });
        await expect.rejects(`the cursor ${JSON.stringify(cursor)}`, listing, InvalidRequestError);
      }
    },
  },
  {
    id: 'open.bad-limit-refused',
    title: 'A limit of open runs that is not a positive integer is InvalidRequestError.',
    async check({ service, expect }) {
      for (const limit of [0, -1, 1.5, Number.NaN, Infinity]) {
        const listing = service.listOpenRuns({ appName, limit });
        await expect.rejects(`the limit ${limit}`, listing, InvalidRequestError);
      }
    },
  },
];

function showRun(run: SessionKey & { readonly invocationId: string }): string {
  return `${run.appName} ${run.userId} ${run.sessionId} ${run.invocationId}`;
}

async function heldUntil(subject: Subject): Promise<number> {
  const [run] = (await openRunPages(subject)).flat();
  return subject.expect.present('the open run', run).heldUntilMs;
}
