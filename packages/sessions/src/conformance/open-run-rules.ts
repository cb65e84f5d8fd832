import { openRun, openRunPages, openRunsOf } from './open-runs.ts';
import { appendAll, KEY, OTHER_KEY, passTime, readSession, sampleEvent, settle } from './samples.ts';
import type { SessionRule } from './session-rule.ts';

const HOUR = 3_600_000;

/** Rules about the open run of a session. */
export const openRunRules: readonly SessionRule[] = [
  {
    id: 'open.begins-with-run',
    title: 'A run that begins is the open run of its session, with its value of resumable.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      await service.createSession(OTHER_KEY);
      expect.same('the open runs of a new session', await openRunsOf(subject), []);
      await openRun(subject, 'e-größer 🧵', { ttlMs: 1000 });
      await openRun(subject, 'e-plain', { ...OTHER_KEY, resumable: false, ttlMs: 1000 });
      const runs = (await openRunPages(subject)).flat();
      const shared = { attempts: 1, heldUntilMs: platform.now() + 1000 };
      expect.same('the runs', runs, [
        { ...OTHER_KEY, invocationId: 'e-plain', resumable: false, ...shared },
        { ...KEY, invocationId: 'e-größer 🧵', resumable: true, ...shared },
      ]);
    },
  },
  {
    id: 'open.lease-names-run',
    title:
      'A lease has the invocationId of the run that it was granted for, and none if it was acquired without a run.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      expect.same('the lease without a run', (await service.acquireLease(KEY)).invocationId, undefined);
      const taken = await openRun(subject, 'e-1', { onBusy: 'interrupt' });
      expect.same('the lease of a run', taken.invocationId, 'e-1');
      const waiting = openRun(subject, 'e-2', { onBusy: 'queue' });
      await settle(subject);
      await service.releaseLease(taken);
      await passTime(subject, 1000, waiting);
      expect.same('the lease of a run that waited', (await waiting).invocationId, 'e-2');
    },
  },
  {
    id: 'open.release-ends',
    title: 'Releasing the lease of a run ends the run, also after the lease has expired.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const lease = await openRun(subject, 'e-1');
      await service.appendEvent({ session, event: sampleEvent('one'), lease });
      expect.same('the open runs during the run', await openRunsOf(subject), ['e-1: 1']);
      await service.releaseLease(lease);
      expect.same('the open runs after the run', await openRunsOf(subject), []);
      const slow = await openRun(subject, 'e-2', { ttlMs: 1000 });
      platform.advance(5000);
      await service.releaseLease(slow, { keepRunOpen: false });
      expect.same('the open runs after a slow run', await openRunsOf(subject), []);
    },
  },
  {
    id: 'open.left-open',
    title: 'Releasing a lease with keepRunOpen frees the session and leaves the run open.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.releaseLease(await openRun(subject, 'e-1'), { keepRunOpen: true });
      expect.same('the open runs', await openRunsOf(subject), ['e-1: 1']);
      await expect.fulfils('a lease', service.acquireLease({ ...KEY, onBusy: 'reject' }));
    },
  },
  {
    id: 'open.outlives-lease',
    title: 'A run stays open when its lease expires.',
    async check(subject) {
      const { service, platform, expect } = subject;
      await service.createSession(KEY);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(HOUR);
      expect.same('the open runs', await openRunsOf(subject), ['e-1: 1']);
    },
  },
  {
    id: 'open.append-without-lease',
    title:
      'An append without a lease after the lease of the open run was released or has expired does not change the open run.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      await service.releaseLease(await openRun(subject, 'e-1'), { keepRunOpen: true });
      await appendAll(service, session, ['one']);
      expect.same('after a release', await openRunsOf(subject), ['e-1: 1']);
      await openRun(subject, 'e-1', { ttlMs: 1000 });
      platform.advance(1000);
      await appendAll(service, session, ['two']);
      expect.same('after an expiry', await openRunsOf(subject), ['e-1: 2']);
    },
  },
  {
    id: 'open.stale-release',
    title: 'Releasing a stale lease does not end the open run and subtracts no attempt.',
    async check(subject) {
      const { service, platform, expect } = subject;
      const session = await service.createSession(KEY);
      const first = await openRun(subject, 'e-1');
      const second = await openRun(subject, 'e-1', { onBusy: 'interrupt', ttlMs: 1000 });
      await service.releaseLease(first);
      await service.releaseLease(first, { keepRunOpen: 'without-attempt' });
      expect.same('after the release of a lease that was taken over', await openRunsOf(subject), ['e-1: 2']);
      platform.advance(1000);
      await appendAll(service, session, ['one']);
      await service.releaseLease(second);
      expect.same('after the release of an expired lease', await openRunsOf(subject), ['e-1: 2']);
    },
  },
  {
    id: 'open.gone-with-session',
    title: 'Deleting a session removes its open run, also for a new session of the same key.',
    async check(subject) {
      const { service, expect } = subject;
      await service.createSession(KEY);
      await service.releaseLease(await openRun(subject, 'e-1'), { keepRunOpen: true });
      const lease = await openRun(subject, 'e-1');
      await service.deleteSession(KEY);
      expect.same('the open runs', await openRunsOf(subject), []);
      await service.createSession(KEY);
      await service.releaseLease(lease, { keepRunOpen: true });
      expect.same('the open runs of the new session', await openRunsOf(subject), []);
      await openRun(subject, 'e-1');
      expect.same('the first attempt in the new session', await openRunsOf(subject), ['e-1: 1']);
    },
  },
  {
    id: 'open.not-exported',
    title: 'Neither an export nor an imported session has an open run.',
    async check(subject) {
      const { service, expect } = subject;
      await appendAll(service, await service.createSession(KEY), ['one']);
      await service.releaseLease(await openRun(subject, 'e-open'), { keepRunOpen: true });
      await service.importSession({ records: service.exportSession(KEY), sessionId: OTHER_KEY.sessionId });
      const runs = (await openRunPages(subject)).flat();
      expect.same('the open runs', await openRunsOf(subject), ['e-open: 1']);
      expect.same('the session of the open run', runs[0]?.sessionId, KEY.sessionId);
      expect.same('the other session', (await readSession(subject, OTHER_KEY)).lastSeq, 1);
    },
  },
];
