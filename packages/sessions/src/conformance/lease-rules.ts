import {
  type Event,
  type Session,
  SessionBusyError,
  type SessionLease,
  SessionNotFoundError,
  StaleWriterError,
} from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { EPOCH_CYCLE } from '@eventloom/core/internal';
import { expectStale } from './expect-stale.ts';
import { appendAll, idsOf, KEY, OTHER_KEY, readSession, sampleEvent, stateEvent } from './samples.ts';

/** Rules about which lease may write to a session. */
export const leaseRules: readonly SessionRule[] = [
  {
    id: 'lease.names-its-session',
    title: 'A lease names its session and lasts 30 seconds by default.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const { appName, userId, sessionId, ttlMs } = lease;
      expect.same('the lease', { appName, userId, sessionId, ttlMs }, { ...KEY, ttlMs: 30_000 });
      expect.true('its epoch is an integer', Number.isInteger(lease.epoch));
      await service.releaseLease(lease);
      expect.same('another time', (await service.acquireLease({ ...KEY, ttlMs: 500 })).ttlMs, 500);
    },
  },
  {
    id: 'lease.epoch-grows',
    title: 'Every lease of a session has a higher epoch than all leases before it.',
    async check({ service, platform, expect }) {
      await service.createSession(KEY);
      const epochs: number[] = [];
      for (const end of ['release', 'release', 'expiry', 'nothing', 'release'] as const) {
        const lease = await service.acquireLease({ ...KEY, onBusy: 'interrupt' });
        epochs.push(lease.epoch);
        if (end === 'release') await service.releaseLease(lease);
        if (end === 'expiry') platform.advance(lease.ttlMs);
      }
      expect.same(
        'the epochs',
        epochs,
        [...new Set(epochs)].sort((a, b) => a - b),
      );
    },
  },
  {
    id: 'lease.epoch-counts',
    title: 'The epoch modulo 998 counts the leases of the session, whatever other sessions do.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      await service.createSession(OTHER_KEY);
      const first = await service.acquireLease(KEY);
      for (let other = 0; other < 2; other++) await service.acquireLease({ ...OTHER_KEY, onBusy: 'interrupt' });
      const run = { ...KEY, invocationId: 'e-1', onBusy: 'interrupt' } as const;
      const leases = [
        first,
        await service.acquireLease({ ...KEY, onBusy: 'interrupt' }),
        (await service.beginRun({ ...run, message: sampleEvent('one', { invocationId: 'e-1' }) })).lease,
        (await service.beginRun({ ...run, continues: true })).lease,
      ];
      const counts = leases.map(({ epoch }) => (epoch - first.epoch) % EPOCH_CYCLE);
      expect.same('the counts from the first lease', counts, [0, 1, 2, 3]);
    },
  },
  {
    id: 'lease.plain-data',
    title: 'A lease is plain data: a copy of it as JSON works like the lease itself.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const copy = JSON.parse(JSON.stringify(lease)) as SessionLease;
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      await service.appendEvent({ session, event: sampleEvent('two'), lease: copy });
      await service.appendEvent({ session, event: sampleEvent('three'), lease });
      await service.renewLease(copy);
      await service.releaseLease(copy);
      await expectStale(subject, lease, 'the original after its copy was released');
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'two', 'three']);
    },
  },
  {
    id: 'lease.fencing',
    title:
      'Writes under a lease are StaleWriterError after another lease was granted, and change nothing; writes under the new lease succeed.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const old = await service.acquireLease(KEY);
      await service.appendEvent({ session, event: sampleEvent('before'), lease: old });
      const lease = await service.acquireLease({ ...KEY, onBusy: 'interrupt' });
      const before = await readSession(subject);
      await expectStale(subject, old, 'the former owner');
      expect.same('the session', await readSession(subject), before);
      await service.appendEvent({ session, event: sampleEvent('after'), lease });
      expect.same('the events', idsOf(await readSession(subject)), ['before', 'after']);
    },
  },
  {
    id: 'lease.lost-event',
    title:
      'If the storage lost the event before it, an append under a lease is StaleWriterError and changes nothing; one under a new lease is stored.',
    async check(subject) {
      const { service, loseEvent, expect } = subject;
      if (!loseEvent) return;
      const outcome = { state: 'completed' } as const;
      const appends: Readonly<
        Record<string, (session: Session, lease: SessionLease, event: Event) => Promise<unknown>>
      > = {
        one: (session, lease, event) => service.appendEvent({ session, lease, event }),
        several: (session, lease, event) => service.appendEvents({ session, lease, appends: [{ event }] }),
        last: (session, lease, event) => service.endRun(lease, { session, event, outcome }),
      };
      for (const [name, append] of Object.entries(appends)) {
        for (const before of ['message', 'event', 'events', 'nothing'] as const) {
          const key = { ...KEY, sessionId: `${name} after ${before}` };
          const created = await service.createSession(key);
          await appendAll(service, created, ['zero']);
          const message = before === 'nothing' ? undefined : sampleEvent('message', { invocationId: 'e-1' });
          const { session, lease } = await service.beginRun({ ...key, invocationId: 'e-1', message });
          const event = sampleEvent('one');
          if (before === 'event') await service.appendEvent({ session, lease, event });
          if (before === 'events') await service.appendEvents({ session, lease, appends: [{ event }] });
          await loseEvent(key);
          const left = await readSession(subject, key);
          const refused = append(session, lease, sampleEvent('two'));
          await expect.rejects(`${name} after ${before}`, refused, StaleWriterError);
          expect.same(`the session of ${name} after ${before}`, await readSession(subject, key), left);
          const next = await service.acquireLease({ ...key, onBusy: 'interrupt' });
          await service.appendEvent({ session: left, lease: next, event: sampleEvent('three') });
          const stored = idsOf(await readSession(subject, key));
          expect.same(`the events of ${name} after ${before}`, stored, [...idsOf(left).slice(0, -1), 'three']);
        }
      }
    },
  },
  {
    id: 'lease.replaced-event',
    title:
      'If the storage has another event in place of the one before it, an append under a lease is StaleWriterError.',
    async check(subject) {
      const { service, loseEvent, expect } = subject;
      if (!loseEvent) return;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      await service.appendEvent({ session, lease, event: sampleEvent('one') });
      await service.appendEvent({ session, lease, event: sampleEvent('two') });
      await loseEvent(KEY);
      // A copy of the lease may be known as little as that of another process, which was granted the same epoch after the loss.
      const other = await readSession(subject);
      const another = await subject.another();
      await another.appendEvent({ session: other, lease: { ...lease }, event: sampleEvent('other') });
      await another.appendEvent({ session: other, lease: { ...lease }, event: sampleEvent('more') });
      const refused = service.appendEvent({ session, lease, event: sampleEvent('three') });
      await expect.rejects('the append', refused, StaleWriterError);
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'other', 'more']);
    },
  },
  {
    id: 'lease.released-is-stale',
    title: 'A write under a released lease is StaleWriterError, even if no other lease was granted since.',
    async check(subject) {
      const { service } = subject;
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      await service.releaseLease(lease);
      await expectStale(subject, lease, 'the former owner');
    },
  },
  {
    id: 'lease.stale-release-is-no-op',
    title: 'Releasing a lease that no longer holds its session is a no-op.',
    async check({ service, expect }) {
      const session = await service.createSession(KEY);
      const old = await service.acquireLease(KEY);
      const lease = await service.acquireLease({ ...KEY, onBusy: 'interrupt' });
      await expect.fulfils('releasing the old lease', service.releaseLease(old));
      await expect.rejects('acquiring the lease', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      await expect.fulfils('an append', service.appendEvent({ session, event: sampleEvent('one'), lease }));
      await service.deleteSession(KEY);
      await expect.fulfils('releasing after the session was deleted', service.releaseLease(lease));
    },
  },
  {
    id: 'lease.reject',
    title:
      'reject fails at once with a retryable SessionBusyError while the session is held, and succeeds when it is free.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, onBusy: 'reject' });
      const refused = service.acquireLease({ ...KEY, onBusy: 'reject' });
      const error = await expect.rejects('the second', refused, SessionBusyError);
      expect.true('the error is retryable', error.retryable);
      await service.releaseLease(lease);
      await expect.fulfils('one after the release', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'lease.missing-session',
    title: 'Acquiring a lease of a session that does not exist is SessionNotFoundError, for every onBusy.',
    async check({ service, expect }) {
      for (const onBusy of ['queue', 'reject', 'interrupt'] as const) {
        await expect.rejects(onBusy, service.acquireLease({ ...KEY, onBusy }), SessionNotFoundError);
      }
      expect.same('the session', await service.getSession(KEY), undefined);
    },
  },
  {
    id: 'lease.dies-with-session',
    title: 'A lease of a deleted session is stale, also for a new session with the same key.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const old: SessionLease[] = [];
      for (let count = 0; count < 3; count++) {
        old.push(await service.acquireLease({ ...KEY, onBusy: 'interrupt' }));
      }
      await service.deleteSession(KEY);
      for (const lease of old) await expectStale(subject, lease, 'the owner of a deleted session');
      await service.createSession(KEY);
      for (const lease of old) await expectStale(subject, lease, 'the owner of the deleted session');
      for (let count = 0; count < 3; count++) {
        const lease = await service.acquireLease({ ...KEY, onBusy: 'interrupt' });
        for (const dead of old) {
          await service.releaseLease(dead);
          await expectStale(subject, dead, 'the owner of the deleted session');
        }
        await expect.fulfils('the new owner', service.renewLease(lease));
      }
    },
  },
  {
    id: 'lease.one-session-only',
    title: 'A lease holds only its own session.',
    async check({ service, expect }) {
      const keys = [OTHER_KEY, { ...KEY, userId: 'stranger' }, { ...KEY, appName: 'other app' }];
      for (const key of [KEY, ...keys]) await service.createSession(key);
      const lease = await service.acquireLease(KEY);
      for (const key of keys) {
        const other = await expect.fulfils('another lease', service.acquireLease({ ...key, onBusy: 'reject' }));
        await service.releaseLease(other);
      }
      await expect.fulfils('the lease', service.renewLease(lease));
    },
  },
  {
    id: 'lease.append-without-lease',
    title: 'An append without a lease leaves the session free, and appends to other sessions do not wait for it.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const held = await service.createSession(OTHER_KEY);
      const lease = await service.acquireLease(OTHER_KEY);
      await expect.fulfils('the append', service.appendEvent({ session, event: stateEvent('one', { own: 1 }) }));
      await expect.fulfils('a lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
      await expect.fulfils('the other', service.appendEvent({ session: held, event: sampleEvent('one'), lease }));
    },
  },
];
