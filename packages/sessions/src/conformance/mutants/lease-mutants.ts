import { type SessionKey, type SessionLease, StaleWriterError } from '@eventloom/core';
import { overlay } from '@eventloom/core/conformance';
import { DriverSessionService } from '../../driver-session-service.ts';
import { InMemorySessionDriver } from '../../in-memory-session-driver.ts';

import type { SessionDriver } from '../../session-driver.ts';
import { ALL_EVENTS } from '../../session-view.ts';
import { restartsEpochs, doesNotRenew, heldLeases, withLease } from './held-leases.ts';
import { brokenDriver, brokenService, type SessionMutant, NO_WAIT } from './mutant.ts';

export const leaseMutants: readonly SessionMutant[] = [
  brokenService('lease.names-its-session', 'grants shorter leases', (service) => ({
    acquireLease: (request) => service.acquireLease({ ttlMs: 10_000, ...request }),
  })),
  brokenDriver('lease.epoch-grows', 'grants every lease the same epoch', (driver) => ({
    claimLease: (claim) => withLease(driver.claimLease(claim), (lease) => ({ ...lease, epoch: 1 })),
  })),
  brokenDriver('lease.epoch-counts', 'counts the leases of all sessions', (driver) => {
    let others = 0;
    let last = '';
    return {
      claimLease: (claim) =>
        withLease(driver.claimLease(claim), (lease) => {
          if (last !== claim.sessionId) others++;
          last = claim.sessionId;
          return { ...lease, epoch: lease.epoch + others };
        }),
    };
  }),
  brokenService('lease.plain-data', 'compares lease objects by identity', (service) => {
    const given = new WeakSet<SessionLease>();
    return {
      async acquireLease(request) {
        const lease = await service.acquireLease(request);
        given.add(lease);
        return lease;
      },
      async appendEvent(request) {
        if (request.lease && !given.has(request.lease)) throw new StaleWriterError('the lease is of another object');
        return service.appendEvent(request);
      },
    };
  }),
  brokenDriver('lease.fencing', 'treats any lease as the latest', (driver) => {
    const held = heldLeases(driver);
    return {
      claimLease: held.claimLease,
      appendEvent: (append) => driver.appendEvent({ ...append, lease: append.lease && held.of(append) }),
    };
  }),
  brokenDriver('lease.fencing', 'does not fence tool calls', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, entry) || true,
  })),
  appendsOverGaps('lease.lost-event'),
  appendsOverGaps('lease.replaced-event'),
  brokenDriver('lease.released-is-stale', 'does not invalidate a released lease', (driver) => {
    const released = new Set<string>();
    return {
      claimLease: (claim) => driver.claimLease({ ...claim, takeOver: claim.takeOver || released.has(claim.sessionId) }),
      releaseLease: (lease) => released.add(lease.sessionId).size > 0,
    };
  }),
  brokenDriver('lease.stale-release-is-no-op', 'releases the current lease instead of the given one', (driver) => {
    const held = heldLeases(driver);
    return {
      claimLease: held.claimLease,
      releaseLease: (lease, keepRunOpen) => driver.releaseLease(held.of(lease) ?? lease, keepRunOpen),
    };
  }),
  brokenService('lease.reject', 'takes over with reject', (service) => ({
    acquireLease: (request) =>
      service.acquireLease({
        ...request,
        onBusy: request.onBusy === 'reject' ? 'interrupt' : (request.onBusy ?? 'queue'),
      }),
  })),
  brokenDriver('lease.expiry', 'expires leases 1 ms late', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, nowMs: claim.nowMs - 1, ttlMs: claim.ttlMs + 2 }),
  })),
  brokenDriver('lease.expiry', 'expires leases 1 ms early', (driver) => ({
    claimLease: (claim) =>
      withLease(driver.claimLease({ ...claim, ttlMs: claim.ttlMs - 1 }), (lease) => ({ ...lease, ttlMs: claim.ttlMs })),
  })),
  brokenDriver('lease.expired-still-writes', 'refuses an expired lease', (driver) => {
    const until = new Map<number, number>();
    return {
      claimLease: (claim) =>
        withLease(driver.claimLease(claim), (lease) => {
          until.set(lease.epoch, claim.nowMs + claim.ttlMs);
          return lease;
        }),
      appendEvent: (append) =>
        append.lease && (until.get(append.lease.epoch) ?? 0) <= append.nowMs
          ? { status: 'stale' }
          : driver.appendEvent(append),
    };
  }),
  brokenDriver('lease.expired-still-writes', 'removes an expired lease at a foreign write', (driver) => {
    const held = heldLeases(driver);
    return {
      claimLease: held.claimLease,
      appendEvent(append) {
        const outcome = driver.appendEvent(append);
        const owner = held.of(append);
        if (append.lease || !owner || outcome.status !== 'stored') return outcome;
        const revived = driver.claimLease({ ...append, ...NO_WAIT, ttlMs: owner.ttlMs, takeOver: true });
        held.alias(owner, revived);
        return outcome;
      },
      renewLease: (lease, nowMs) => driver.renewLease(held.aliasOf(lease), nowMs),
      recordToolCall: (lease, entry) => driver.recordToolCall(held.aliasOf(lease), entry),
    };
  }),
  doesNotRenew('lease.append-renews'),
  brokenDriver('lease.renewal', 'does not renew a lease in renewLease', () => ({ renewLease: () => true })),
  brokenService('lease.missing-session', 'creates a missing session for a lease', (service) => ({
    async acquireLease(request) {
      await service.getOrCreateSession(request);
      return service.acquireLease(request);
    },
  })),
  restartsEpochs('lease.dies-with-session'),
  brokenDriver('lease.one-session-only', 'uses one lease for all sessions', (driver) => {
    let held: SessionLease | undefined;
    return {
      claimLease(claim) {
        if (held && held.sessionId !== claim.sessionId) return { status: 'busy', freeAtMs: Infinity };
        return withLease(driver.claimLease(claim), (lease) => (held = lease));
      },
    };
  }),
  brokenDriver('lease.append-without-lease', 'does not release the lease of an append', (driver) => ({
    appendEvent(append) {
      if (append.lease) return driver.appendEvent(append);
      const claimed = driver.claimLease({ ...append, ...NO_WAIT, ttlMs: 30_000, takeOver: false });
      return driver.appendEvent({ ...append, lease: claimed.status === 'taken' ? claimed.lease : undefined });
    },
  })),
  brokenService('lease.bad-times-refused', 'accepts invalid durations', (service) => ({
    acquireLease: ({ ttlMs = 30_000, ...request }) =>
      service.acquireLease({ ...request, ttlMs: Number.isFinite(ttlMs) && ttlMs > 0 ? ttlMs : 30_000 }),
  })),
  brokenService('lease.bad-times-refused', 'waits without limit', (service) => ({
    acquireLease: ({ waitMs = 60_000, ...request }) =>
      service.acquireLease({ ...request, waitMs: waitMs === Infinity ? 86_400_000 : waitMs }),
  })),
  brokenDriver('import.lease-expires', 'starts leases at a future update time', (driver) => {
    let untilMs = 0;
    return {
      importSession(session) {
        untilMs = session.updatedAtMs + 1_000_000;
        return driver.importSession(session);
      },
      claimLease(claim) {
        if (untilMs <= claim.nowMs || claim.takeOver) return driver.claimLease(claim);
        const outcome = driver.claimLease({ ...claim, ttlMs: untilMs - claim.nowMs + claim.ttlMs });
        return withLease(outcome, (lease) => ({ ...lease, ttlMs: claim.ttlMs }));
      },
    };
  }),
  brokenService('lease.bad-times-refused', 'treats a negative waitMs as 0', (service) => ({
    acquireLease: ({ waitMs = 60_000, ...request }) =>
      service.acquireLease({ ...request, waitMs: Math.max(0, waitMs || 0) }),
  })),
];

/** Creates a mutant that numbers an append after the last event that it stored, whether that is still there or not. */
function appendsOverGaps(breaks: string): SessionMutant {
  return {
    breaks,
    how: 'does not look for the event before an append',
    make: async ({ platform }) => {
      const lost = new Map<string, number>();
      const driver = new InMemorySessionDriver();
      const losing = overlay<SessionDriver>(driver, {
        readSession(key, window) {
          const stored = driver.readSession(key, window);
          const seq = lost.get(key.sessionId) ?? 0;
          return stored && { ...stored, events: stored.events.toSpliced(seq - 1, seq === 0 ? 0 : 1) };
        },
      });
      const loseEvent = (key: SessionKey): void => {
        lost.set(key.sessionId, driver.readEvents(key, ALL_EVENTS)?.lastSeq ?? 0);
      };
      return { service: new DriverSessionService(losing, { platform }), loseEvent };
    },
  };
}
