import type { OpenRun } from '@eventloom/core';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { LeaseClaim } from '../../lease-claim.ts';
import type { SessionDriver } from '../../session-driver.ts';
import { withLease } from './held-leases.ts';
import { brokenDriver, brokenService, type Mutant, NO_RUN } from './mutant.ts';

export const openRunMutants: readonly Mutant[] = [
  brokenClaim('open.begins-with-lease', 'opens no run', (claim) => ({ ...claim, resumable: false })),
  brokenClaim('open.begins-with-lease', 'opens every run', (claim) => ({ ...claim, resumable: true })),
  brokenDriver('open.lease-names-run', 'does not name the run in its lease', (driver) => ({
    claimLease: (claim) =>
      withLease(driver.claimLease(claim), ({ appName, userId, sessionId, epoch, ttlMs }) => ({
        appName,
        userId,
        sessionId,
        epoch,
        ttlMs,
      })),
  })),
  brokenDriver('open.lease-names-run', 'names a run in every lease', (driver) => ({
    claimLease: (claim) => withLease(driver.claimLease(claim), (lease) => ({ invocationId: 'e-0', ...lease })),
  })),
  brokenDriver('open.release-ends', 'leaves every run open', (driver) => ({
    releaseLease: (lease) => driver.releaseLease(lease, true),
  })),
  brokenService('open.release-ends', 'leaves the run of an expired lease open', (service, _, platform) => {
    const until = new Map<number, number>();
    return {
      async acquireLease(request) {
        const lease = await service.acquireLease(request);
        until.set(lease.epoch, platform.now() + lease.ttlMs);
        return lease;
      },
      releaseLease: (lease) =>
        service.releaseLease(lease, { leaveOpen: (until.get(lease.epoch) ?? 0) <= platform.now() }),
    };
  }),
  brokenDriver('open.left-open', 'ends every run with its lease', (driver) => ({
    releaseLease: (lease) => driver.releaseLease(lease, false),
  })),
  brokenService('open.outlives-lease', 'lists only what is under way', (service, _, platform) => ({
    async listOpenRuns(request) {
      const { runs } = await service.listOpenRuns(request);
      return { runs: runs.filter(({ heldUntilMs }) => heldUntilMs > platform.now()) };
    },
  })),
  brokenRuns('open.attempts', 'counts no attempts', (runs) => runs.map((run) => ({ ...run, attempts: 1 }))),
  countsAttempts('open.attempts', 'counts leases that it refused', (_, isTaken) => !isTaken),
  brokenDriver('open.attempts', 'goes on counting after the end of a run', (driver) => {
    let attempts = 0;
    return {
      claimLease: (claim) =>
        withLease(driver.claimLease(claim), (lease) => {
          attempts++;
          return lease;
        }),
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts })),
    };
  }),
  brokenDriver('open.uncounted', 'counts every attempt', (driver) => {
    let left = 0;
    return {
      releaseLease(lease, leaveOpen) {
        driver.releaseLease(lease, leaveOpen);
        if (leaveOpen === 'uncounted' && lease.invocationId !== undefined) left++;
      },
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts: run.attempts + left })),
    };
  }),
  brokenDriver('open.uncounted', 'begins to count anew when a run is left', (driver) => {
    let isLeft = false;
    return {
      releaseLease(lease, leaveOpen) {
        driver.releaseLease(lease, leaveOpen);
        isLeft = leaveOpen !== false;
      },
      listOpenRuns: (page) => driver.listOpenRuns(page).map((run) => ({ ...run, attempts: isLeft ? 0 : run.attempts })),
    };
  }),
  brokenDriver('open.uncounted', 'counts no attempt of a run that is left', (driver) => ({
    releaseLease: (lease, leaveOpen) => driver.releaseLease(lease, leaveOpen && 'uncounted'),
  })),
  brokenClaim('open.replaced', 'keeps the run that is open', (claim, open) =>
    open && open.invocationId !== claim.invocationId ? { ...claim, ...NO_RUN } : claim,
  ),
  brokenDriver('open.replaced', 'takes the run that asked last for the open one', (driver) => {
    let asked: string | undefined;
    return {
      claimLease(claim) {
        asked = claim.invocationId;
        return driver.claimLease(claim);
      },
      listOpenRuns: (page) =>
        driver.listOpenRuns(page).map((run) => ({ ...run, invocationId: asked ?? run.invocationId })),
    };
  }),
  brokenClaim('open.ended-by-plain-run', 'lets plain runs leave the open one', (claim) =>
    claim.resumable ? claim : { ...claim, ...NO_RUN },
  ),
  brokenEnd('open.ended-by-plain-run', 'ends the open run for a plain one that it refuses', (driver, end) => ({
    claimLease(claim) {
      const outcome = driver.claimLease(claim);
      if (!claim.resumable && outcome.status === 'busy') end();
      return outcome;
    },
  })),
  brokenClaim('open.lease-for-no-run', 'ends the open run for no run', (claim) => ({
    ...claim,
    invocationId: claim.invocationId ?? '',
  })),
  brokenDriver('open.lease-for-no-run', 'ends the open run with any lease', (driver) => ({
    releaseLease(lease, leaveOpen) {
      const invocationId = openIn(driver, lease.appName)?.invocationId ?? '';
      driver.releaseLease({ ...lease, invocationId }, leaveOpen);
    },
  })),
  brokenDriver('open.append-without-lease', 'appends as a run of its own', (driver) => ({
    appendEvent(append) {
      if (append.lease) return driver.appendEvent(append);
      const run = { ...NO_RUN, invocationId: 'e-append' };
      const claimed = driver.claimLease({ ...append, ...run, ttlMs: 30_000, takeOver: false });
      if (claimed.status === 'taken') driver.releaseLease(claimed.lease, false);
      return driver.appendEvent(append);
    },
  })),
  brokenEnd('open.stale-release', 'ends a run with any of its leases', (driver, end) => ({
    releaseLease(lease, leaveOpen) {
      driver.releaseLease(lease, leaveOpen);
      if (!leaveOpen) end();
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
  countsAttempts('open.gone-with-session', 'goes on counting in a new session', (claim) => Boolean(claim.invocationId)),
  brokenDriver('open.not-exported', 'opens the runs of what it imports', (driver) => ({
    importSession(session) {
      const created = driver.importSession(session);
      const run = { ...NO_RUN, invocationId: 'e-open', resumable: true };
      driver.claimLease({ ...session, ...run, nowMs: 0, ttlMs: 1, takeOver: true });
      return created;
    },
  })),
  brokenService('open.bad-run-id-refused', 'makes what it can of the id of a run', (service) => ({
    acquireLease: ({ invocationId, ...request }) =>
      service.acquireLease({ ...request, invocationId: invocationId?.replaceAll('\0', '').slice(0, 256) || undefined }),
  })),
];

/** A mutant that takes a claim for another one. */
function brokenClaim(
  breaks: string,
  how: string,
  change: (claim: LeaseClaim, open: OpenRun | undefined) => LeaseClaim,
): Mutant {
  return brokenDriver(breaks, how, (driver) => ({
    claimLease: (claim) => driver.claimLease(change(claim, openIn(driver, claim.appName))),
  }));
}

/** A mutant that lists other runs than are open. */
function brokenRuns(breaks: string, how: string, change: (runs: OpenRun[]) => OpenRun[]): Mutant {
  return brokenDriver(breaks, how, (driver) => ({ listOpenRuns: (page) => change(driver.listOpenRuns(page)) }));
}

/** A mutant that ends all open runs when it should not. */
function brokenEnd(
  breaks: string,
  how: string,
  change: (driver: InMemorySessionDriver, end: () => void) => Partial<SessionDriver>,
): Mutant {
  return brokenDriver(breaks, how, (driver) => {
    let isEnded = false;
    const end = (): void => void (isEnded = true);
    return { ...change(driver, end), listOpenRuns: (page) => (isEnded ? [] : driver.listOpenRuns(page)) };
  });
}

/** A mutant that adds claims to the attempts that are none. */
function countsAttempts(breaks: string, how: string, counts: (claim: LeaseClaim, isTaken: boolean) => boolean): Mutant {
  return brokenDriver(breaks, how, (driver) => {
    let more = 0;
    return {
      claimLease(claim) {
        const outcome = driver.claimLease(claim);
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
