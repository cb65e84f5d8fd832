import { SessionAlreadyExistsError, SessionNotFoundError, type ToolLedgerEntry } from '@eventloom/core';
import { expectStale } from './expect-stale.ts';
import { comparable, exportAll, headerOf, recordsOf } from './records.ts';
import { richToolCalls, writeRichSession } from './rich-session.ts';
import type { SessionRule } from './session-rule.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, readSession, sampleEvent, stateEvent } from './samples.ts';
import { gives, timedEvent } from './window-samples.ts';

/** The key of the copy, in an app without any data of the exported one. */
const COPY_KEY = { appName: 'copy', userId: 'ada', sessionId: 'again' };
const CALL: ToolLedgerEntry = {
  invocationId: 'e-1',
  entryId: 'z',
  name: 'tool',
  status: 'finished',
  response: { a: 1 },
};

/** Rules about what an import stores. */
export const importRules: readonly SessionRule[] = [
  {
    id: 'import.lossless',
    title: 'An imported session has the exported state, events, order, times and tool calls.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await writeRichSession(subject, KEY);
      const original = await readSession(subject);
      platform.advance(100_000);
      await service.importSession({ records: service.exportSession(KEY), ...COPY_KEY });
      const copy = await readSession(subject, COPY_KEY);
      const { appName, userId, sessionId: id } = COPY_KEY;
      expect.same('the copy', copy, { ...original, appName, userId, id, incarnation: copy.incarnation });
      expect.same('its tool calls', await richToolCalls(service, COPY_KEY), await richToolCalls(service, KEY));
      const { initialState } = await headerOf(subject, KEY);
      expect.same('its initial state', (await headerOf(subject, COPY_KEY)).initialState, initialState);
    },
  },
  {
    id: 'import.exports-the-same',
    title: 'The export of an imported session equals the export that was imported.',
    async check(subject) {
      const { service, expect } = subject;
      await writeRichSession(subject, KEY);
      const records = await exportAll(service, KEY);
      await service.deleteSession(KEY);
      await service.importSession({ records });
      expect.same('the second export', comparable(await exportAll(service, KEY)), comparable(records));
    },
  },
  {
    id: 'import.returns-session',
    title: 'An import returns the stored session, which can be appended to.',
    async check(subject) {
      const { service, expect } = subject;
      const records = recordsOf({ state: { list: [1] } }, [sampleEvent('one'), sampleEvent('two')]);
      const session = await service.importSession({ records });
      expect.same('the session as read', await readSession(subject), session);
      session.events.pop();
      (session.state['list'] as number[]).push(2);
      const { state, events } = await readSession(subject);
      expect.same('the session as read after a change to the result', [state, events.length], [{ list: [1] }, 2]);
      const again = await readSession(subject);
      await appendAll(service, again, ['three']);
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'two', 'three']);
    },
  },
  {
    id: 'import.names',
    title: 'A session is imported under its exported app, user and id unless the request names others.',
    async check(subject) {
      const { service, expect } = subject;
      const records = recordsOf({}, [sampleEvent('one')]);
      const changes = [
        {},
        { sessionId: 'b' },
        { userId: 'b' },
        { appName: 'b' },
        { appName: 'c', userId: 'c', sessionId: 'c' },
      ];
      for (const change of changes) {
        const session = await service.importSession({ records, ...change });
        const key = { ...KEY, ...change };
        const { appName, userId, id } = session;
        expect.same('the names', { appName, userId, sessionId: id }, key);
        expect.same('the events', idsOf(await readSession(subject, key)), ['one']);
      }
    },
  },
  {
    id: 'import.existing-refused',
    title: 'An import under a key that is in use is SessionAlreadyExistsError and changes no state in any scope.',
    async check(subject) {
      const { service, expect } = subject;
      await writeRichSession(subject, KEY);
      const before = comparable(await exportAll(service, KEY));
      const state = { own: 1, 'user:new': 1, 'app:new': 1 };
      const records = recordsOf({ state, initialState: { own: 2 } }, [sampleEvent('new')], [CALL]);
      await expect.rejects('the import', service.importSession({ records }), SessionAlreadyExistsError);
      expect.same('the session', comparable(await exportAll(service, KEY)), before);
    },
  },
  {
    id: 'import.one-wins',
    title: 'Of concurrent imports under one key, one is stored completely and the others are refused.',
    async check(subject) {
      const { service, expect } = subject;
      const names = ['a', 'b', 'c', 'd'];
      const results = await Promise.allSettled(
        names.map((name) => {
          const records = recordsOf({ state: { name } }, [sampleEvent(`${name} 1`), sampleEvent(`${name} 2`)]);
          return service.importSession({ records });
        }),
      );
      const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect.same('the number of successes', made.length, 1);
      for (const result of results) {
        if (result.status === 'rejected') {
          expect.true('the others get SessionAlreadyExistsError', SessionAlreadyExistsError.isInstance(result.reason));
        }
      }
      expect.same('the stored session', await readSession(subject), made[0]);
    },
  },
  {
    id: 'import.shared-state',
    title:
      'An import writes only those keys of the app’s and the user’s state that are absent; a key with null is present.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession({ ...OTHER_KEY, state: { 'user:name': 'Grace', 'app:motto': null, own: 'other' } });
      const state = { own: 1, 'user:name': 'Ada', 'user:age': 36, 'app:motto': 'go', 'app:list': [1] };
      const session = await service.importSession({ records: recordsOf({ state }) });
      const shared = { 'user:name': 'Grace', 'user:age': 36, 'app:motto': null, 'app:list': [1] };
      expect.same('the imported session', session.state, { own: 1, ...shared });
      expect.same('another session', (await readSession(subject, OTHER_KEY)).state, { own: 'other', ...shared });
    },
  },
  {
    id: 'import.goes-on',
    title:
      'An imported session behaves like any other in appends, duplicates, leases, tool calls, windows and listings.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const events = [timedEvent('1', 1), timedEvent('2', 3), timedEvent('3', [4, 2]), timedEvent('4', 2)];
      const session = await service.importSession({ records: recordsOf({ lastUpdateTime: 5 }, events, [CALL]) });
      await gives(subject, { sinceCompaction: true }, [2, 3]);
      await gives(subject, { afterTimestamp: 2, numRecentEvents: 2 }, [3, 4]);
      const lease = await expect.fulfils('a lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
      const again = { ...events[1], author: 'other' } as (typeof events)[0];
      expect.same('a duplicate', await service.appendEvent({ session, event: again, lease }), events[1]);
      await service.appendEvent({ session, event: timedEvent('5', [5, 3]), lease });
      await service.recordToolCall(lease, { ...CALL, response: { a: 2 } });
      await service.recordToolCall(lease, { ...CALL, entryId: 'a' });
      const calls = await service.listToolCalls({ ...KEY, invocationId: 'e-1' });
      expect.same('the tool calls', calls, [CALL, { ...CALL, entryId: 'a' }]);
      await gives(subject, {}, [1, 2, 3, 4, 5]);
      await gives(subject, { sinceCompaction: true }, [3, 5]);
      expect.same('the time', (await readSession(subject)).lastUpdateTime, platform.now() / 1000);
      await service.importSession({ records: recordsOf({ lastUpdateTime: 6 }), sessionId: 'old' });
      await service.importSession({ records: recordsOf({ lastUpdateTime: 7 }), sessionId: 'newer' });
      const { sessions } = await service.listSessions(KEY);
      expect.same(
        'the listing',
        sessions.map(({ id }) => id),
        ['session', 'newer', 'old'],
      );
    },
  },
  {
    id: 'import.time-ahead',
    title:
      'A last update time in the future is imported as the current time, so that leases of the session expire as usual.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const lastUpdateTime = platform.now() / 1000 + 86_400;
      const session = await service.importSession({ records: recordsOf({ lastUpdateTime }, [sampleEvent('one')]) });
      expect.same(
        'the time',
        [session.lastUpdateTime, (await readSession(subject)).lastUpdateTime],
        [platform.now() / 1000, platform.now() / 1000],
      );
      await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(1000);
      await expect.fulfils('the next lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'import.recreated',
    title:
      'An import under the key of a deleted session is a new session: its old leases and session objects stay invalid.',
    async check(subject) {
      const { service, expect } = subject;
      const old = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const records = await exportAll(service, KEY);
      await service.deleteSession(KEY);
      const session = await service.importSession({ records });
      expect.different('the incarnation', session.incarnation, old.incarnation);
      const append = service.appendEvent({ session: old, event: stateEvent('late', { late: 1 }) });
      await expect.rejects('an append to the old session', append, SessionNotFoundError);
      const fresh = await service.acquireLease({ ...KEY, onBusy: 'reject' });
      expect.true('the new lease has a higher epoch', fresh.epoch > lease.epoch);
      await expectStale(subject, lease, 'the owner of the deleted session');
    },
  },
];
