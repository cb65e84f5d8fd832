import { type BaseSessionService, RunAbortedError, SessionBusyError, type SessionLease } from '@eventloom/core';
import type { SessionRule } from './session-rule.ts';
import { KEY, passTime, settle } from './samples.ts';
import { watch } from './watched-promise.ts';

/** Maximum number of waiters for a session in one service. */
const MOST = 1000;

/** Rules about the queue of a session's waiters: its maximum length, and its order across several services. */
export const leaseLineRules: readonly SessionRule[] = [
  {
    id: 'queue.bounded',
    title:
      'At most 1,000 callers wait for a session; further ones get SessionBusyError at once until one of the callers leaves the queue.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      const lease = await service.acquireLease({ ...KEY, ttlMs: 1_000_000 });
      const first = watch(service.acquireLease({ ...KEY, waitMs: 10_000 }));
      await settle(subject);
      const others = Array.from({ length: MOST - 1 }, () => watch(service.acquireLease({ ...KEY, waitMs: 20_000 })));
      await settle(subject);
      expect.same('the waiting caller', new Set([first, ...others].map(({ state }) => state)).size, 1);
      expect.same('the first', first.state, 'waiting');
      const error = await expect.rejects('one caller more', service.acquireLease(KEY), SessionBusyError);
      expect.true('the error is retryable', error.retryable);
      await passTime(subject, 11_000, first.promise);
      await expect.rejects('the first', first.promise, SessionBusyError);
      const late = watch(service.acquireLease(KEY));
      await settle(subject);
      expect.same('a later caller', late.state, 'waiting');
      await passTime(subject, 20_000, Promise.allSettled(others.map(({ promise }) => promise)));
      await service.releaseLease(lease);
      await passTime(subject, 1000, late.promise);
      await expect.fulfils('a later caller', late.promise);
    },
  },
  {
    id: 'queue.fair-between-services',
    title:
      'Of the first waiting callers of several services, the one that has waited longest gets the session. Callers of one service get it in the order of their requests, and a later caller gets it after all of them.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const other = await subject.another();
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const order: string[] = [];
      const run = async (where: BaseSessionService, name: string): Promise<void> => {
        const got = await where.acquireLease(KEY);
        order.push(name);
        // By the clock, which is advanced only when the next caller of this service stands in the queue.
        await new Promise<void>((resolve) => platform.schedule(1, resolve));
        await where.releaseLease(got);
      };
      const runs: Promise<void>[] = [];
      for (const [where, name] of [
        [service, 'one'],
        [service, 'two'],
        [other, 'three'],
        [service, 'four'],
        [other, 'five'],
        [service, 'six'],
      ] as const) {
        runs.push(run(where, name));
        await settle(subject);
        platform.advance(1);
      }
      const all = Promise.all(runs);
      await service.releaseLease(lease);
      await settle(subject);
      const late = run(service, 'late');
      // Each caller takes the session some polls after the one before.
      await passTime(subject, 20_000, all, 400);
      await expect.fulfils('the waiting callers', all);
      await passTime(subject, 20_000, late, 400);
      await expect.fulfils('a late caller', late);
      expect.same('the order', order, ['one', 'two', 'three', 'four', 'five', 'six', 'late']);
    },
  },
  {
    id: 'queue.rejects-behind-others',
    title:
      'reject fails while a caller of any service waits, and interrupt takes the session before all callers that wait.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const waiting = watch(other.acquireLease(KEY));
      await settle(subject);
      const release = service.releaseLease(lease);
      const rejected = service.acquireLease({ ...KEY, onBusy: 'reject' });
      await expect.rejects('the caller with reject', rejected, SessionBusyError);
      await release;
      const taken = await expect.fulfils('the interrupt', service.acquireLease({ ...KEY, onBusy: 'interrupt' }));
      await expect.fulfils('its lease', service.renewLease(taken));
      await service.releaseLease(taken);
      await passTime(subject, 1000, waiting.promise);
      await expect.fulfils('the waiting caller', waiting.promise);
    },
  },
  {
    id: 'queue.place-given-up',
    title: 'A caller that gave up waiting in one service does not delay callers of another.',
    async check(subject) {
      const { service, expect } = subject;
      const other = await subject.another();
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const abort = new AbortController();
      const gone = watch(other.acquireLease({ ...KEY, abortSignal: abort.signal }));
      await settle(subject);
      const waiting = watch(service.acquireLease(KEY));
      await settle(subject);
      abort.abort();
      await expect.rejects('the caller that gave up', gone.promise, RunAbortedError);
      await service.releaseLease(lease);
      await passTime(subject, 1000, waiting.promise);
      const next: SessionLease = await expect.fulfils('the waiting caller', waiting.promise);
      await service.releaseLease(next);
      await expect.fulfils('the session is free', other.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
];
