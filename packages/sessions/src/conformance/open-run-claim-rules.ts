import { SessionBusyError } from '@eventloom/core';
import { openRun, openRunsOf } from './open-runs.ts';
import { KEY, sampleEvent } from './samples.ts';
import type { SessionRule } from './session-rule.ts';

/** Rules about leases and the open run. */
export const openRunClaimRules: readonly SessionRule[] = [
  {
    id: 'open.attempts',
    title: 'Every start of a run counts as one attempt, and no other call does.',
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
    id: 'open.uncounted',
    title: 'Releasing a lease with leaveOpen uncounted leaves its run open and takes back one attempt, each time.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      for (const turn of ['first', 'second', 'third']) {
        await service.releaseLease(await openRun(subject, 'e-1'), { leaveOpen: 'uncounted' });
        expect.same(`the open runs after the ${turn}`, await openRunsOf(subject), ['e-1: 1']);
      }
      const lease = await service.acquireLease({ ...KEY, onBusy: 'reject' });
      await service.releaseLease(lease, { leaveOpen: 'uncounted' });
      expect.same('the open runs after a lease for no run', await openRunsOf(subject), ['e-1: 1']);
      await service.releaseLease(await openRun(subject, 'e-1'), { leaveOpen: true });
      expect.same('the open runs after a counted one', await openRunsOf(subject), ['e-1: 2']);
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
