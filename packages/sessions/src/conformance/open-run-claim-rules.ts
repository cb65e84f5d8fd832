import { SessionBusyError } from '@eventloom/core';
import { openRun, openRunsOf } from './open-runs.ts';
import { KEY, passTime, sampleEvent, settle } from './samples.ts';
import type { SessionRule } from './session-rule.ts';

/** What claims of a lease make of the run that is open. */
export const openRunClaimRules: readonly SessionRule[] = [
  {
    id: 'open.attempts',
    title: 'Every lease that is given for the same run counts as an attempt, and nothing else does.',
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
      expect.same('after nothing that counts', await openRunsOf(subject), ['e-1: 3']);
      await service.releaseLease(await openRun(subject, 'e-1', { onBusy: 'interrupt' }));
      await openRun(subject, 'e-1');
      expect.same('after its end', await openRunsOf(subject), ['e-1: 1']);
    },
  },
  {
    id: 'open.uncounted',
    title:
      'A lease that is released uncounted leaves its run open and is no attempt, however often; others stay counted.',
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
      expect.same('the open runs after one that counts', await openRunsOf(subject), ['e-1: 2']);
    },
  },
  {
    id: 'open.replaced',
    title: 'Another resumable run takes the place of the open one, when it gets the session.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      await service.releaseLease(await openRun(subject, 'e-1'), { leaveOpen: true });
      const lease = await openRun(subject, 'e-1');
      await expect.rejects('a refused run', openRun(subject, 'e-2'), SessionBusyError);
      const waiting = openRun(subject, 'e-3', { onBusy: 'queue' });
      await settle();
      expect.same('the open runs while others wait', await openRunsOf(subject), ['e-1: 2']);
      await service.releaseLease(lease, { leaveOpen: true });
      await passTime(platform, 1000, waiting);
      await waiting;
      expect.same('the open runs after one waited', await openRunsOf(subject), ['e-3: 1']);
      await openRun(subject, 'e-4', { onBusy: 'interrupt' });
      expect.same('the open runs after an interruption', await openRunsOf(subject), ['e-4: 1']);
    },
  },
  {
    id: 'open.ended-by-plain-run',
    title: 'A run that is not resumable ends the open one when it gets the session, and not when it is refused.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      for (const invocationId of ['e-2', 'e-1']) {
        const lease = await openRun(subject, 'e-1');
        const plain = { invocationId, resumable: false };
        await expect.rejects('a refused run', openRun(subject, invocationId, plain), SessionBusyError);
        expect.same('the open runs after it', await openRunsOf(subject), ['e-1: 1']);
        await service.releaseLease(lease, { leaveOpen: true });
        const given = await openRun(subject, invocationId, plain);
        expect.same('the open runs after one that got it', await openRunsOf(subject), []);
        await service.releaseLease(given, { leaveOpen: true });
        expect.same('the open runs after its end', await openRunsOf(subject), []);
      }
    },
  },
  {
    id: 'open.lease-for-no-run',
    title: 'A lease for no run leaves the open run as it is, and so does its release.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      for (const resumable of [undefined, false, true]) {
        const lease = await service.acquireLease({ ...KEY, resumable });
        await service.appendEvent({ session, event: sampleEvent(`event ${resumable}`), lease });
        expect.same('the open runs meanwhile', await openRunsOf(subject), ['e-1: 1']);
        await service.releaseLease(lease);
        expect.same('the open runs afterwards', await openRunsOf(subject), ['e-1: 1']);
      }
    },
  },
];
