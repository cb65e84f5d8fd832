import { InvalidRequestError, SessionBusyError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { expectStale } from './expect-stale.ts';
import { idsOf, KEY, readSession, sampleEvent } from './samples.ts';

/** Rules about the duration of a lease. */
export const leaseTimeRules: readonly SessionRule[] = [
  {
    id: 'lease.expiry',
    title: 'A lease that is not renewed can be taken over once it has expired, and not before.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      const old = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(999);
      await expect.rejects(
        'acquiring the lease early',
        service.acquireLease({ ...KEY, onBusy: 'reject' }),
        SessionBusyError,
      );
      platform.advance(1);
      await expect.fulfils('acquiring the lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
      await expectStale(subject, old, 'the former owner');
    },
  },
  {
    id: 'lease.expired-still-writes',
    title: 'Writes under an expired lease succeed until another caller takes the session or writes to it.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(5000);
      await expect.fulfils('an append', service.appendEvent({ session, event: sampleEvent('one'), lease }));
      await expect.rejects('acquiring the lease', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      platform.advance(5000);
      await expect.fulfils('a renewal', service.renewLease(lease));
      platform.advance(5000);
      await service.appendEvent({ session, event: sampleEvent('without a lease') });
      await expectStale(subject, lease, 'the owner after a write without a lease');
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'without a lease']);
    },
  },
  {
    id: 'lease.append-renews',
    title: 'Every append renews the lease for its ttlMs.',
    async check({ service, platform, expect }) {
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      for (const id of ['one', 'two', 'three']) {
        platform.advance(900);
        await service.appendEvent({ session, event: sampleEvent(id), lease });
      }
      platform.advance(999);
      await expect.rejects(
        'acquiring the lease early',
        service.acquireLease({ ...KEY, onBusy: 'reject' }),
        SessionBusyError,
      );
      platform.advance(1);
      await expect.fulfils('acquiring the lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'lease.renewal',
    title: 'renewLease renews the lease for its ttlMs.',
    async check({ service, platform, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(900);
      await service.renewLease(lease);
      platform.advance(999);
      await expect.rejects(
        'acquiring the lease early',
        service.acquireLease({ ...KEY, onBusy: 'reject' }),
        SessionBusyError,
      );
      platform.advance(1);
      await expect.fulfils('acquiring the lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'lease.bad-times-refused',
    title: 'A ttlMs that is not positive and a waitMs that is negative or longer than a day are InvalidRequestError.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      for (const ttlMs of [0, -1, Number.NaN, Infinity]) {
        await expect.rejects(`ttlMs ${ttlMs}`, service.acquireLease({ ...KEY, ttlMs }), InvalidRequestError);
      }
      for (const waitMs of [-1, Number.NaN, 86_400_001, 1e300, Infinity]) {
        await expect.rejects(`waitMs ${waitMs}`, service.acquireLease({ ...KEY, waitMs }), InvalidRequestError);
      }
      await expect.fulfils('a day', service.acquireLease({ ...KEY, waitMs: 86_400_000 }));
    },
  },
  {
    id: 'import.lease-expires',
    title: 'A lease of an imported session expires after its ttlMs, whatever the session’s last update time.',
    async check({ service, platform, expect }) {
      const event = sampleEvent('one');
      const header = { type: 'session', version: 1, appName: 'app', userId: 'user', id: 'session' } as const;
      const lastUpdateTime = platform.now() / 1000 + 1_000_000;
      await service.importSession({
        records: [
          { ...header, lastUpdateTime, initialState: {}, state: {} },
          { type: 'event', event },
          { type: 'end', events: 1, toolCalls: 0 },
        ],
      });
      const session = expect.present('the session', await service.getSession(KEY));
      await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(999);
      await expect.rejects(
        'acquiring the lease early',
        service.acquireLease({ ...KEY, onBusy: 'reject' }),
        SessionBusyError,
      );
      platform.advance(1);
      const lease = await expect.fulfils(
        'acquiring the lease',
        service.acquireLease({ ...KEY, ttlMs: 1000, onBusy: 'reject' }),
      );
      platform.advance(900);
      await service.appendEvent({ session, event: sampleEvent('two'), lease });
      platform.advance(999);
      await expect.rejects('before it ends', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      platform.advance(1);
      await expect.fulfils('acquiring the lease again', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
];
