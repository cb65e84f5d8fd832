import { SessionAlreadyExistsError, SessionNotFoundError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

/** Rules about creating, reading and deleting sessions. */
export const sessionRules: readonly SessionRule[] = [
  {
    id: 'session.new-is-empty',
    title: 'A new session has its key, no events, and its creation as its last update.',
    async check({ service, platform, expect }) {
      const session = await service.createSession(KEY);
      const { id, appName, userId, events, lastSeq, lastUpdateTime, state } = session;
      expect.same(
        'the new session',
        { id, appName, userId, events, lastSeq, lastUpdateTime, state },
        {
          id: KEY.sessionId,
          appName: KEY.appName,
          userId: KEY.userId,
          events: [],
          lastSeq: 0,
          lastUpdateTime: platform.now() / 1000,
          state: {},
        },
      );
      expect.same('the session as read back', await service.getSession(KEY), session);
    },
  },
  {
    id: 'session.id-made-up',
    title: 'A session that is created without an id gets a new one.',
    async check({ service, expect }) {
      const { appName, userId } = KEY;
      const one = await service.createSession({ appName, userId });
      const other = await service.createSession({ appName, userId });
      expect.different('the second id', other.id, one.id);
      expect.true('the id is not empty', one.id.length > 0);
      const read = await service.getSession({ appName, userId, sessionId: one.id });
      expect.same('the session read by its id', read, one);
    },
  },
  {
    id: 'session.existing-id-refused',
    title: 'Creating a session whose id is in use is SessionAlreadyExistsError and changes no state in any scope.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { kept: 1, 'app:kept': 1, 'user:kept': 1 } });
      await appendAll(service, session, ['one']);
      const before = await readSession(subject);
      const state = { kept: 2, 'app:kept': 2, 'user:kept': 2, 'app:more': 2 };
      await expect.rejects('the second create', service.createSession({ ...KEY, state }), SessionAlreadyExistsError);
      expect.same('the session afterwards', await readSession(subject), before);
    },
  },
  {
    id: 'session.one-creator-wins',
    title: 'Of concurrent creations of one session, one succeeds.',
    async check({ service, expect }) {
      const results = await Promise.allSettled(
        [1, 2, 3, 4].map((by) => service.createSession({ ...KEY, state: { by } })),
      );
      const made = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect.same('the number of successes', made.length, 1);
      for (const result of results) {
        if (result.status === 'rejected') {
          expect.true('the others get SessionAlreadyExistsError', SessionAlreadyExistsError.isInstance(result.reason));
        }
      }
      expect.same('the stored session', await service.getSession(KEY), made[0]);
    },
  },
  {
    id: 'session.missing-is-undefined',
    title: 'getSession returns undefined for a session that does not exist.',
    async check({ service, expect }) {
      expect.same('the session', await service.getSession(KEY), undefined);
      await service.createSession(KEY);
      expect.same('another session', await service.getSession(OTHER_KEY), undefined);
    },
  },
  {
    id: 'session.get-or-create',
    title: 'getOrCreateSession creates a session once and returns it to every caller.',
    async check({ service, expect }) {
      const made = await Promise.all([1, 2, 3].map((by) => service.getOrCreateSession({ ...KEY, state: { by } })));
      const again = await service.getOrCreateSession({ ...KEY, state: { by: 4 } });
      for (const session of [...made, again]) expect.same('the session', session, made[0]);
    },
  },
  {
    id: 'session.own-copy',
    title: 'Changing the result of getSession does not change the stored session.',
    async check(subject) {
      const { service, expect } = subject;
      const state = { list: [1], 'app:list': [1], 'user:deep': { inner: [1] } };
      const session = await service.createSession({ ...KEY, state });
      await appendAll(service, session, ['one']);
      const read = await readSession(subject);
      read.events.push(sampleEvent('not appended'));
      Reflect.set(read.state, 'extra', true);
      for (const key of ['list', 'app:list']) (read.state[key] as number[]).push(2);
      (read.state['user:deep'] as { inner: number[] }).inner.push(2);
      const again = await readSession(subject);
      expect.same('the events afterwards', idsOf(again), ['one']);
      expect.same('the state afterwards', again.state, {
        list: [1],
        'app:list': [1],
        'user:deep': { inner: [1] },
      });
    },
  },
  {
    id: 'session.created-own-copy',
    title: 'Changing the arguments or the result of createSession does not change the stored session.',
    async check(subject) {
      const { service, expect } = subject;
      const list = [1];
      const session = await service.createSession({ ...KEY, state: { list, 'user:list': list } });
      list.push(2);
      (session.state['list'] as number[]).push(3);
      (session.state['user:list'] as number[]).push(3);
      expect.same('the stored state', (await readSession(subject)).state, { list: [1], 'user:list': [1] });
    },
  },
  {
    id: 'session.delete-removes-all',
    title:
      'Deleting a session removes its events, state, lease and ledger, so that a new session with the same key is empty.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { own: 1 } });
      const lease = await service.acquireLease(KEY);
      await service.appendEvent({ session, event: stateEvent('one', { more: 1 }), lease });
      const call = { invocationId: 'e-1', entryId: 'call', name: 'tool', status: 'started' } as const;
      await service.recordToolCall(lease, call);
      await service.deleteSession(KEY);
      expect.same('the session', await service.getSession(KEY), undefined);
      expect.same('the listing', (await service.listSessions(KEY)).sessions, []);
      expect.same('the ledger', await service.listToolCalls({ ...KEY, invocationId: 'e-1' }), []);
      const renewed = await service.createSession(KEY);
      expect.same('the new state', renewed.state, {});
      expect.same('the new session', await readSession(subject), renewed);
      expect.same('the new events', [renewed.events, renewed.lastSeq], [[], 0]);
      expect.same('the new ledger', await service.listToolCalls({ ...KEY, invocationId: 'e-1' }), []);
      await expect.fulfils('a lease of the new session', service.acquireLease({ ...KEY, onBusy: 'reject' }));
      await service.appendEvent({ session: renewed, event: sampleEvent('two'), lease: await interrupt(subject) });
      expect.same('the events of the new session', idsOf(await readSession(subject)), ['two']);
    },
  },
  {
    id: 'session.delete-keeps-shared-state',
    title: 'Deleting a session keeps the state of its user and its app.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession({ ...KEY, state: { own: 1, 'user:name': 'Ada', 'app:motto': 'go' } });
      await service.deleteSession(KEY);
      const other = await service.createSession(OTHER_KEY);
      expect.same('the state of another session', other.state, { 'user:name': 'Ada', 'app:motto': 'go' });
    },
  },
  {
    id: 'session.delete-touches-no-other',
    title: 'Deleting a session does not change any other session.',
    async check(subject) {
      const { service, expect } = subject;
      const others = [OTHER_KEY, { ...KEY, userId: 'somebody' }, { ...KEY, appName: 'another app' }];
      for (const key of [KEY, ...others]) {
        const session = await service.createSession({ ...key, state: { own: 1 } });
        await appendAll(service, session, ['one', 'two']);
      }
      const before = await Promise.all(others.map((key) => readSession(subject, key)));
      await service.deleteSession(KEY);
      const after = await Promise.all(others.map((key) => readSession(subject, key)));
      expect.same('the other sessions', after, before);
    },
  },
  {
    id: 'session.delete-missing-is-no-op',
    title: 'Deleting a session that does not exist changes nothing.',
    async check({ service, expect }) {
      await expect.fulfils('deleting a missing session', service.deleteSession(KEY));
      await service.createSession(KEY);
      await service.deleteSession(KEY);
      await expect.fulfils('deleting again', service.deleteSession(KEY));
    },
  },
  {
    id: 'session.check-writable',
    title: 'checkWritable succeeds each time, and changes no session and no listing.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession({ ...KEY, state: { kept: 1, 'app:kept': 1, 'user:kept': 1 } });
      await appendAll(service, session, ['one']);
      const before = await readSession(subject);
      const checks = async () => {
        await service.checkWritable();
        await service.checkWritable();
      };
      await expect.fulfils('two checks', checks());
      expect.same('the session afterwards', await readSession(subject), before);
      const { sessions } = await service.listSessions({ appName: KEY.appName });
      expect.same(
        'the sessions of the app',
        sessions.map(({ id }) => id),
        [KEY.sessionId],
      );
    },
  },
  {
    id: 'session.incarnation',
    title:
      'Appending through a session object of a deleted session is SessionNotFoundError, also after a session with the same key was created.',
    async check(subject) {
      const { service, expect } = subject;
      const old = await service.createSession(KEY);
      await service.deleteSession(KEY);
      const renewed = await service.createSession(KEY);
      expect.different('the incarnation', renewed.incarnation, old.incarnation);
      const append = service.appendEvent({ session: old, event: stateEvent('late', { late: true }) });
      await expect.rejects('an append to the old session', append, SessionNotFoundError);
      expect.same('the new session', await readSession(subject), renewed);
    },
  },
];

/** Takes over the lease of the session from its holder. */
function interrupt({ service }: Parameters<SessionRule['check']>[0]) {
  return service.acquireLease({ ...KEY, onBusy: 'interrupt' });
}
