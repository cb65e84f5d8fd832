import type { OpenRun } from '@eventloom/core';
import { ALL_EVENTS } from '../../session-view.ts';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { RunClaim, SessionDriver } from '../../session-driver.ts';
import { withLease } from './held-leases.ts';
import { brokenDriver, brokenService, type SessionMutant, NO_WAIT } from './mutant.ts';

export const openRunMutants: readonly SessionMutant[] = [
  brokenRuns('open.begins-with-run', 'omits runs that are not resumable', (runs) =>
    runs.filter(({ resumable }) => resumable),
  ),
  brokenClaim('open.begins-with-run', 'marks every run as resumable', (claim) => ({ ...claim, resumable: true })),
  brokenDriver('open.lease-names-run', 'omits invocationId in leases', (driver) => ({
    beginRun(claim) {
      const outcome = driver.beginRun(claim);
      if (outcome.status !== 'taken') return outcome;
      const { invocationId: _, ...lease } = outcome.lease;
      return { ...outcome, lease };
    },
  })),
  brokenDriver('open.lease-names-run', 'sets invocationId in every lease', (driver) => ({
    claimLease: (claim) => withLease(driver.claimLease(claim), (lease) => ({ invocationId: 'e-0', ...lease })),
  })),
  brokenDriver('open.release-ends', 'never ends a run', (driver) => ({
    releaseLease: (lease) => driver.releaseLease(lease, true),
  })),
  brokenService('open.release-ends', 'does not end the run of an expired lease', (service, _, platform) => {
    const until = new Map<number, number>();
    return {
      async beginRun(request) {
        const begun = await service.beginRun(request);
        until.set(begun.lease.epoch, platform.now() + begun.lease.ttlMs);
        return begun;
      },
      releaseLease: (lease) =>
        service.releaseLease(lease, { keepRunOpen: (until.get(lease.epoch) ?? 0) <= platform.now() }),
    };
  }),
  brokenDriver('open.left-open', 'ends a run when its lease is released with keepRunOpen', (driver) => ({
    releaseLease: (lease) => driver.releaseLease(lease, false),
  })),
  brokenService('open.outlives-lease', 'lists only runs whose lease is held', (service, _, platform) => ({
    async listOpenRuns(request) {
      const { runs } = await service.listOpenRuns(request);
      return { runs: runs.filter(({ heldUntilMs }) => heldUntilMs > platform.now()) };
    },
  })),
  brokenRuns('open.attempts', 'does not count attempts', (runs) => runs.map((run) => ({ ...run, attempts: 1 }))),
  countsAttempts('open.attempts', 'counts refused leases as attempts', (_, isTaken) => !isTaken),
  brokenDriver('open.attempts', 'continues the count after the end of a run', (driver) => {
    let attempts = 0;
    return {
      beginRun(claim) {
        const outcome = driver.beginRun(claim);
        if (outcome.status === 'taken') attempts++;
        return outcome;
      },
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts })),
    };
  }),
  brokenDriver('open.without-attempt', 'ignores without-attempt', (driver) => {
    let left = 0;
    return {
      releaseLease(lease, keepRunOpen) {
        if (keepRunOpen === 'without-attempt' && lease.invocationId !== undefined) left++;
        return driver.releaseLease(lease, keepRunOpen);
      },
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts: run.attempts + left })),
    };
  }),
  brokenDriver('open.without-attempt', 'resets the count at keepRunOpen without-attempt', (driver) => {
    let isLeft = false;
    return {
      releaseLease(lease, keepRunOpen) {
        isLeft = keepRunOpen !== false;
        return driver.releaseLease(lease, keepRunOpen);
      },
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts: isLeft ? 0 : run.attempts })),
    };
  }),
  brokenDriver('open.without-attempt', 'does not count attempts of a run left open', (driver) => ({
    releaseLease: (lease, keepRunOpen) => driver.releaseLease(lease, keepRunOpen && 'without-attempt'),
  })),
  brokenClaim('open.last-epoch', 'ignores lastEpoch', (claim) => ({ ...claim, lastEpoch: undefined })),
  brokenClaim('open.last-epoch', 'ignores lastEpoch once the lease has ended', ({ lastEpoch, ...claim }) =>
    claim.takeOver ? { ...claim, lastEpoch } : claim,
  ),
  brokenClaim('open.last-epoch', 'takes the session over without interrupt', (claim) => ({
    ...claim,
    takeOver: claim.takeOver || claim.lastEpoch !== undefined,
  })),
  brokenEnd('open.lease-for-no-run', 'ends the open run when a lease without a run is released', (driver, end) => ({
    claimLease(claim) {
      end();
      return driver.claimLease(claim);
    },
  })),
  brokenDriver('open.lease-for-no-run', 'ends the open run with any lease', (driver) => ({
    releaseLease(lease, keepRunOpen) {
      const invocationId = openIn(driver, lease.appName)?.invocationId ?? '';
      return driver.releaseLease({ ...lease, invocationId }, keepRunOpen);
    },
  })),
  brokenEnd('open.append-without-lease', 'ends the open run with a stale lease', (driver, end) => ({
    appendEvent(append) {
      if (!append.lease) end();
      return driver.appendEvent(append);
    },
  })),
  brokenEnd('open.stale-release', 'ends a run with an earlier lease of the run', (driver, end) => ({
    releaseLease(lease, keepRunOpen) {
      const isLive = driver.releaseLease(lease, keepRunOpen);
      if (!keepRunOpen) end();
      return isLive;
    },
  })),
  brokenDriver('open.gone-with-session', 'keeps the open runs of deleted sessions', (driver) => {
    const kept: OpenRun[] = [];
    return {
      deleteSession(key) {
        kept.push(...driver.listOpenRuns({ appName: key.appName, limit: 1000, after: undefined }));
        driver.deleteSession(key);
      },
      listOpenRuns: (page) => [...kept, ...driver.listOpenRuns(page)],
    };
  }),
  countsAttempts('open.gone-with-session', 'continues the count in a new session', () => true),
  brokenDriver('open.not-exported', 'opens the runs of an imported session', (driver) => ({
    importSession(session) {
      const created = driver.importSession(session);
      const run = { invocationId: 'e-open', requestId: undefined, resumable: true, continues: false };
      const claim = { ...session, ...NO_WAIT, nowMs: 0, ttlMs: 1, takeOver: true };
      driver.beginRun({ ...claim, ...run, create: false, window: ALL_EVENTS, message: undefined });
      return created;
    },
  })),
];

/** Creates a mutant that changes the run that begins. */
export function brokenClaim(breaks: string, how: string, change: (claim: RunClaim) => RunClaim): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ beginRun: (claim) => driver.beginRun(change(claim)) }));
}

/** Creates a mutant that lists wrong open runs. */
function brokenRuns(breaks: string, how: string, change: (runs: OpenRun[]) => OpenRun[]): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ listOpenRuns: (page) => change(driver.listOpenRuns(page)) }));
}

/** Creates a mutant that ends all open runs when it must not. */
function brokenEnd(
  breaks: string,
  how: string,
  change: (driver: InMemorySessionDriver, end: () => void) => Partial<SessionDriver>,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => {
    let isEnded = false;
    const end = (): void => void (isEnded = true);
    return { ...change(driver, end), listOpenRuns: (page) => (isEnded ? [] : driver.listOpenRuns(page)) };
  });
}

/** Creates a mutant that counts attempts wrongly. */
function countsAttempts(
  breaks: string,
  how: string,
  counts: (claim: RunClaim, isTaken: boolean) => boolean,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => {
    let more = 0;
    return {
      beginRun(claim) {
        const outcome = driver.beginRun(claim);
        if (counts(claim, outcome.status === 'taken')) more++;
        return outcome;
      },
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts: run.attempts + more })),
    };
  });
}

function openIn(driver: InMemorySessionDriver, appName: string): OpenRun | undefined {
  return driver.listOpenRuns({ appName, limit: 1, after: undefined })[0];
}
