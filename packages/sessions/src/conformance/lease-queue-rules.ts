import { RunAbortedError, SessionBusyError, SessionNotFoundError } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { KEY, OTHER_KEY, passTime, sampleEvent, settle } from './samples.ts';
import { watch } from './watched-promise.ts';

/** Rules about waiting for a session that another writer holds. */
export const leaseQueueRules: readonly SessionRule[] = [
  {
    id: 'queue.waits',
    title: 'queue, the default, waits until the session is free.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const waiting = watch(service.acquireLease(KEY));
      await settle(subject);
      expect.same('the waiting caller', waiting.state, 'waiting');
      await service.releaseLease(lease);
      const next = await expect.fulfils('the waiting caller', waiting.promise);
      expect.true('its epoch is higher', next.epoch > lease.epoch);
      await expect.fulfils('it holds the session', service.renewLease(next));
    },
  },
  {
    id: 'queue.in-order',
    title: 'Callers that wait in one process get the session one at a time, in the order of their requests.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const order: number[] = [];
      const waiting = [1, 2, 3, 4, 5].map(async (number) => {
        const got = await service.acquireLease(KEY);
        order.push(number);
        await settle(subject);
        await service.releaseLease(got);
      });
      const all = watch(Promise.all(waiting));
      await settle(subject);
      await service.releaseLease(lease);
      const late = watch(service.acquireLease(KEY).then(() => order.push(6)));
      await expect.fulfils('the waiting callers', all.promise);
      await expect.fulfils('a late caller', late.promise);
      expect.same('the order', order, [1, 2, 3, 4, 5, 6]);
    },
  },
  {
    id: 'queue.not-overtaken',
    title: 'A caller that asks right after a release does not get the session before the callers that wait.',
    async check(subject) {
      const { service, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const first = watch(service.acquireLease(KEY));
      await settle(subject);
      const release = service.releaseLease(lease);
      const rejected = watch(service.acquireLease({ ...KEY, onBusy: 'reject' }));
      const append = watch(service.appendEvent({ session, event: sampleEvent('without a lease') }));
      await release;
      await expect.rejects('the caller with reject', rejected.promise, SessionBusyError);
      const next = await expect.fulfils('the waiting caller', first.promise);
      await settle(subject);
      expect.same('the append without a lease', append.state, 'waiting');
      await service.releaseLease(next);
      await expect.fulfils('the append', append.promise);
    },
  },
  {
    id: 'queue.times-out',
    title: 'queue rejects with a retryable SessionBusyError after waitMs, and not before.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.acquireLease({ ...KEY, ttlMs: 1_000_000 });
      const waiting = watch(service.acquireLease({ ...KEY, waitMs: 5000 }));
      await settle(subject);
      await passTime(subject, 4990, waiting.promise);
      expect.same('the waiting caller', waiting.state, 'waiting');
      await passTime(subject, 1000, waiting.promise);
      const error = await expect.rejects('the wait', waiting.promise, SessionBusyError);
      expect.true('the error is retryable', error.retryable);
      const noWait = service.acquireLease({ ...KEY, waitMs: 0 });
      await expect.rejects('a wait of 0 ms', noWait, SessionBusyError);
    },
  },
  {
    id: 'queue.default-wait',
    title: 'queue waits 60 seconds by default.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.acquireLease({ ...KEY, ttlMs: 1_000_000 });
      const waiting = watch(service.acquireLease(KEY));
      await settle(subject);
      await passTime(subject, 59_000, waiting.promise);
      expect.same('the waiting caller', waiting.state, 'waiting');
      await passTime(subject, 2000, waiting.promise);
      await expect.rejects('the wait', waiting.promise, SessionBusyError);
    },
  },
  {
    id: 'queue.gets-expired',
    title: 'A caller that waits gets the session when the previous lease expires, but not while that lease is renewed.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 10_000 });
      const waiting = watch(service.acquireLease(KEY));
      await settle(subject);
      platform.advance(9000);
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      await passTime(subject, 9000, waiting.promise);
      expect.same('the waiting caller during renewals', waiting.state, 'waiting');
      await passTime(subject, 2000, waiting.promise);
      await expect.fulfils('the waiting caller', waiting.promise);
    },
  },
  {
    id: 'queue.abort',
    title: 'The abort signal ends a wait with RunAbortedError, and the callers behind it move up.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const abort = new AbortController();
      const first = watch(service.acquireLease({ ...KEY, abortSignal: abort.signal }));
      const second = watch(service.acquireLease(KEY));
      await settle(subject);
      abort.abort(new Error('enough'));
      await expect.rejects('the caller that gave up', first.promise, RunAbortedError);
      await service.releaseLease(lease);
      await passTime(subject, 5000, second.promise);
      const got = await expect.fulfils('the caller after it', second.promise);
      await service.releaseLease(got);
      const aborted = service.acquireLease({ ...KEY, abortSignal: AbortSignal.abort() });
      await expect.rejects('a wait that was aborted before it began', aborted, RunAbortedError);
      await expect.fulfils('the session is free', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'queue.timeout-leaves-line',
    title: 'A caller whose waitMs has passed does not get the session later; the next caller does.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1_000_000 });
      const first = watch(service.acquireLease({ ...KEY, waitMs: 1000 }));
      const second = watch(service.acquireLease(KEY));
      await settle(subject);
      await passTime(subject, 2000, first.promise);
      await expect.rejects('the first', first.promise, SessionBusyError);
      await service.releaseLease(lease);
      await passTime(subject, 5000, second.promise);
      await expect.fulfils('the second', second.promise);
    },
  },
  {
    id: 'queue.interrupt',
    title: 'interrupt takes the session at once, before all callers that wait; they then wait for the new owner.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.acquireLease(KEY);
      const waiting = watch(service.acquireLease(KEY));
      await settle(subject);
      const taken = await expect.fulfils('the interrupt', service.acquireLease({ ...KEY, onBusy: 'interrupt' }));
      await settle(subject);
      expect.same('the waiting caller', waiting.state, 'waiting');
      await expect.fulfils('the new owner', service.renewLease(taken));
      await service.releaseLease(taken);
      await expect.fulfils('the waiting caller', waiting.promise);
    },
  },
  {
    id: 'queue.session-deleted',
    title: 'A caller that waits for a session gets SessionNotFoundError when the session is deleted.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.acquireLease(KEY);
      const waiting = [watch(service.acquireLease(KEY)), watch(service.acquireLease(KEY))];
      await settle(subject);
      await service.deleteSession(KEY);
      for (const { promise } of waiting) {
        await passTime(subject, 20_000, promise);
        await expect.rejects('the wait', promise, SessionNotFoundError);
      }
    },
  },
  {
    id: 'queue.sessions-apart',
    title: 'Callers that wait for one session do not delay those of another.',
    async check(subject) {
      const { service, expect } = subject;
      for (const key of [KEY, OTHER_KEY]) await service.createSession(key);
      const lease = await service.acquireLease(KEY);
      const waiting = watch(service.acquireLease(KEY));
      await settle(subject);
      const other = await expect.fulfils('the other session', service.acquireLease(OTHER_KEY));
      await service.releaseLease(other);
      await settle(subject);
      expect.same('the waiting caller', waiting.state, 'waiting');
      await service.releaseLease(lease);
      await expect.fulfils('the waiting caller', waiting.promise);
    },
  },
];
