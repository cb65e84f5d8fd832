import { InvalidRequestError, SessionBusyError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { expectStale } from './expect-stale.ts';
import { idsOf, KEY, readSession, sampleEvent } from './samples.ts';

/** How long a lease lasts. */
export const leaseTimeRules: readonly SessionRule[] = [
  {
    id: 'lease.expiry',
    title: 'A lease that is not renewed may be taken over when its time is up, and not before.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      const old = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(999);
      await expect.rejects('taking it early', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      platform.advance(1);
      await expect.fulfils('taking it', service.acquireLease({ ...KEY, onBusy: 'reject' }));
      await expectStale(subject, old, 'the former owner');
    },
  },
  {
    id: 'lease.expired-still-writes',
    title: 'A lease that expired writes as long as nobody else took the session or wrote to it.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(5000);
      await expect.fulfils('an append', service.appendEvent({ session, event: sampleEvent('one'), lease }));
      await expect.rejects('taking it', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      platform.advance(5000);
      await expect.fulfils('a renewal', service.renewLease(lease));
      platform.advance(5000);
      await service.appendEvent({ session, event: sampleEvent('from outside') });
      await expectStale(subject, lease, 'the owner after a write from outside');
      expect.same('the events', idsOf(await readSession(subject)), ['one', 'from outside']);
    },
  },
  {
    id: 'lease.append-renews',
    title: 'Every append renews the lease for its whole time.',
    async check({ service, platform, expect }) {
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      for (const id of ['one', 'two', 'three']) {
        platform.advance(900);
        await service.appendEvent({ session, event: sampleEvent(id), lease });
      }
      platform.advance(999);
      await expect.rejects('taking it early', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      platform.advance(1);
      await expect.fulfils('taking it', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'lease.renewal',
    title: 'renewLease keeps the lease for another whole time.',
    async check({ service, platform, expect }) {
      await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1000 });
      platform.advance(900);
      await service.renewLease(lease);
      platform.advance(999);
      await expect.rejects('taking it early', service.acquireLease({ ...KEY, onBusy: 'reject' }), SessionBusyError);
      platform.advance(1);
      await expect.fulfils('taking it', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'lease.bad-times-refused',
    title: 'A ttlMs that is not positive, or a negative waitMs, is refused.',
    async check({ service, expect }) {
      await service.createSession(KEY);
      for (const ttlMs of [0, -1, Number.NaN, Infinity]) {
        await expect.rejects(`ttlMs ${ttlMs}`, service.acquireLease({ ...KEY, ttlMs }), InvalidRequestError);
      }
      for (const waitMs of [-1, Number.NaN]) {
        await expect.rejects(`waitMs ${waitMs}`, service.acquireLease({ ...KEY, waitMs }), InvalidRequestError);
      }
    },
  },
];
