import { type BeginRunRequest, RunNotFoundError, SessionBusyError, StaleWriterError } from '@eventloom/core';
import { openRun, openRunsOf } from './open-runs.ts';
import { KEY, sampleEvent } from './samples.ts';
import type { SessionRule } from './session-rule.ts';

/** Rules about leases and the open run. */
export const openRunClaimRules: readonly SessionRule[] = [
  {
    id: 'open.attempts',
    title: 'Every start of a run counts as one attempt; other calls do not count.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      expect.same('after being lost', await openRunsOf(subject), ['e-1: 2']);
      platform.advance(1000);
      const lease = await openRun(subject, 'e-1');
      expect.same('after expiry', await openRunsOf(subject), ['e-1: 3']);
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      await service.renewLease(lease);
      await expect.rejects('a refused lease', openRun(subject, 'e-1'), SessionBusyError);
      expect.same('after calls that do not count', await openRunsOf(subject), ['e-1: 3']);
      await service.releaseLease(await openRun(subject, 'e-1', { onBusy: 'interrupt' }));
      await openRun(subject, 'e-1');
      expect.same('after its end', await openRunsOf(subject), ['e-1: 1']);
    },
  },
  {
    id: 'open.without-attempt',
    title:
      'Releasing a lease with keepRunOpen without-attempt leaves its run open and subtracts one attempt each time.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      for (const turn of ['first', 'second', 'third']) {
        await service.releaseLease(await openRun(subject, 'e-1'), { keepRunOpen: 'without-attempt' });
        expect.same(`the open runs after the ${turn}`, await openRunsOf(subject), ['e-1: 1']);
      }
      const lease = await service.acquireLease({ ...KEY, onBusy: 'reject' });
      await service.releaseLease(lease, { keepRunOpen: 'without-attempt' });
      expect.same('the open runs after a lease for no run', await openRunsOf(subject), ['e-1: 1']);
      await service.releaseLease(await openRun(subject, 'e-1'), { keepRunOpen: true });
      expect.same('the open runs after a counted one', await openRunsOf(subject), ['e-1: 2']);
    },
  },
  {
    id: 'open.last-epoch',
    title:
      'A run with lastEpoch is StaleWriterError if a later lease was granted, and takes the session from that lease only with interrupt.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const first = await openRun(subject, 'e-1', { ttlMs: 1000 });
      const after = (lastEpoch: number, request: Partial<BeginRunRequest> = {}) =>
        openRun(subject, 'e-1', { continues: true, lastEpoch, ...request });
      await expect.rejects('a run of a held session', after(first.epoch), SessionBusyError);
      await service.appendEvent({ session, event: sampleEvent('one'), lease: first });
      const second = await after(first.epoch, { onBusy: 'interrupt', ttlMs: 1000 });
      expect.same('the open runs after an interruption', await openRunsOf(subject), ['e-1: 2']);
      const message = sampleEvent('two');
      for (const onBusy of ['reject', 'queue', 'interrupt'] as const) {
        await expect.rejects('a run after an earlier lease', after(first.epoch, { onBusy }), StaleWriterError);
        await expect.rejects('the same with a message', after(first.epoch, { onBusy, message }), StaleWriterError);
      }
      await service.renewLease(second);
      platform.advance(1000);
      await expect.rejects('a run after the lease expired', after(first.epoch), StaleWriterError);
      const third = await after(second.epoch, { message });
      await service.releaseLease(third, { keepRunOpen: true });
      await expect.rejects('a run after a release', after(second.epoch), StaleWriterError);
      const fourth = await after(third.epoch);
      await service.releaseLease(fourth, { keepRunOpen: true });
      await service.releaseLease(await service.acquireLease(KEY));
      await expect.rejects('a run after a lease for no run', after(fourth.epoch), StaleWriterError);
      expect.same('the open runs', await openRunsOf(subject), ['e-1: 4']);
      const unknown = openRun(subject, 'e-2', { continues: true, lastEpoch: first.epoch });
      await expect.rejects('a run that the session does not have', unknown, RunNotFoundError);
    },
  },
  {
    id: 'open.lease-for-no-run',
    title: 'Acquiring and releasing a lease without a run does not change the open run.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      for (const onBusy of ['reject', 'interrupt'] as const) {
        const lease = await service.acquireLease({ ...KEY, onBusy });
        await service.appendEvent({ session, event: sampleEvent(`event ${onBusy}`), lease });
        expect.same('the open runs meanwhile', await openRunsOf(subject), ['e-1: 1']);
        await service.releaseLease(lease);
        expect.same('the open runs afterwards', await openRunsOf(subject), ['e-1: 1']);
      }
    },
  },
];
