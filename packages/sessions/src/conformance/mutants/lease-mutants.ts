import { SessionBusyError, type SessionKey, type SessionLease, StaleWriterError } from '@eventloom/core';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { ClaimOutcome, SessionDriver } from '../../session-driver.ts';
import { brokenDriver, brokenService, type Mutant } from './mutant.ts';

export const leaseMutants: readonly Mutant[] = [
  brokenService('lease.names-its-session', 'gives shorter leases', (service) => ({
    acquireLease: (request) => service.acquireLease({ ttlMs: 10_000, ...request }),
  })),
  brokenDriver('lease.epoch-grows', 'gives every lease the same epoch', (driver) => ({
    claimLease: (claim) => withLease(driver.claimLease(claim), (lease) => ({ ...lease, epoch: 1 })),
  })),
  brokenService('lease.plain-data', 'knows leases by their object', (service) => {
    const given = new WeakSet<SessionLease>();
    return {
      async acquireLease(request) {
        const lease = await service.acquireLease(request);
        given.add(lease);
        return lease;
      },
      async appendEvent(request) {
        if (request.lease && !given.has(request.lease)) throw new StaleWriterError('not mine');
        return service.appendEvent(request);
      },
    };
  }),
  brokenDriver('lease.fencing', 'takes any lease for the latest', (driver) => {
    const held = heldLeases(driver);
    return {
      claimLease: held.claimLease,
      appendEvent: (append) => driver.appendEvent({ ...append, lease: append.lease && held.of(append) }),
    };
  }),
  brokenDriver('lease.fencing', 'does not fence tool calls', (driver) => ({
    recordToolCall: (lease, entry) => driver.recordToolCall(lease, entry) || true,
  })),
  brokenDriver('lease.released-is-stale', 'only lets others in when a lease is released', (driver) => {
    const released = new Set<string>();
    return {
      claimLease: (claim) => driver.claimLease({ ...claim, takeOver: claim.takeOver || released.has(claim.sessionId) }),
      releaseLease: (lease) => void released.add(lease.sessionId),
    };
  }),
  brokenDriver('lease.stale-release-is-no-op', 'releases whatever lease there is', (driver) => {
    const held = heldLeases(driver);
    return { claimLease: held.claimLease, releaseLease: (lease) => driver.releaseLease(held.of(lease) ?? lease) };
  }),
  brokenService('lease.reject', 'takes over when it should reject', (service) => ({
    acquireLease: (request) =>
      service.acquireLease({
        ...request,
        onBusy: request.onBusy === 'reject' ? 'interrupt' : (request.onBusy ?? 'queue'),
      }),
  })),
  brokenDriver('lease.expiry', 'lets leases expire a moment late', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, nowMs: claim.nowMs - 1, ttlMs: claim.ttlMs + 2 }),
  })),
  brokenDriver('lease.expiry', 'lets leases expire a moment early', (driver) => ({
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
  brokenDriver('lease.expired-still-writes', 'forgets an expired lease when somebody else wrote', (driver) => {
    const held = heldLeases(driver);
    return {
      claimLease: held.claimLease,
      appendEvent(append) {
        const outcome = driver.appendEvent(append);
        const owner = held.of(append);
        if (append.lease || !owner || outcome.status !== 'stored') return outcome;
        const revived = driver.claimLease({ ...append, ttlMs: owner.ttlMs, takeOver: true });
        held.alias(owner, revived);
        return outcome;
      },
      renewLease: (lease, nowMs) => driver.renewLease(held.aliasOf(lease), nowMs),
      recordToolCall: (lease, entry) => driver.recordToolCall(held.aliasOf(lease), entry),
    };
  }),
  doesNotRenew('lease.append-renews'),
  brokenDriver('lease.renewal', 'says that it renews', () => ({ renewLease: () => true })),
  brokenService('lease.missing-session', 'makes a session to hold', (service) => ({
    async acquireLease(request) {
      await service.getOrCreateSession(request);
      return service.acquireLease(request);
    },
  })),
  brokenDriver('lease.dies-with-session', 'counts epochs anew with a new session', (driver) => {
    let base = 0;
    let last = 0;
    const inner = (lease: SessionLease): SessionLease => ({ ...lease, epoch: lease.epoch + base });
    return {
      createSession(creation) {
        base = last;
        return driver.createSession(creation);
      },
      claimLease: (claim) =>
        withLease(driver.claimLease(claim), (lease) => {
          last = lease.epoch;
          return { ...lease, epoch: lease.epoch - base };
        }),
      appendEvent: (append) => driver.appendEvent({ ...append, lease: append.lease && inner(append.lease) }),
      renewLease: (lease, nowMs) => driver.renewLease(inner(lease), nowMs),
      releaseLease: (lease) => driver.releaseLease(inner(lease)),
      recordToolCall: (lease, entry) => driver.recordToolCall(inner(lease), entry),
    };
  }),
  brokenDriver('lease.one-session-only', 'has one lease for all sessions', (driver) => {
    let held: SessionLease | undefined;
    return {
      claimLease(claim) {
        if (held && held.sessionId !== claim.sessionId) return { status: 'busy', freeAtMs: Infinity };
        return withLease(driver.claimLease(claim), (lease) => (held = lease));
      },
    };
  }),
  brokenDriver('lease.append-without-lease', 'keeps the lease it took for an append', (driver) => ({
    appendEvent(append) {
      if (append.lease) return driver.appendEvent(append);
      const claimed = driver.claimLease({ ...append, ttlMs: 30_000, takeOver: false });
      return driver.appendEvent({ ...append, lease: claimed.status === 'taken' ? claimed.lease : undefined });
    },
  })),
  brokenService('lease.bad-times-refused', 'makes what it can of a time', (service) => ({
    acquireLease: ({ ttlMs = 30_000, ...request }) =>
      service.acquireLease({ ...request, ttlMs: Number.isFinite(ttlMs) && ttlMs > 0 ? ttlMs : 30_000 }),
  })),
  brokenService('lease.bad-times-refused', 'takes a negative wait for none', (service) => ({
    acquireLease: ({ waitMs = 60_000, ...request }) =>
      service.acquireLease({ ...request, waitMs: Math.max(0, waitMs || 0) }),
  })),

  brokenService('queue.waits', 'rejects when it should wait', (service) => ({
    acquireLease: (request) => service.acquireLease({ ...request, onBusy: 'reject' }),
  })),
  brokenService('queue.in-order', 'serves the last who came first', (service) => {
    const line: (() => void)[] = [];
    return {
      async acquireLease(request) {
        for (;;) {
          try {
            return await service.acquireLease({ ...request, onBusy: 'reject' });
          } catch (error) {
            if (!SessionBusyError.isInstance(error)) throw error;
            await new Promise<void>((resolve) => line.push(resolve));
          }
        }
      },
      async releaseLease(lease) {
        await service.releaseLease(lease);
        line.pop()?.();
      },
    };
  }),
  brokenService('queue.not-overtaken', 'asks the storage before it looks who waits', (service, driver, platform) => ({
    async acquireLease({ ttlMs = 30_000, ...request }) {
      const claim = { ...request, ttlMs, nowMs: platform.now(), takeOver: request.onBusy === 'interrupt' };
      const outcome = driver.claimLease(claim);
      return outcome.status === 'taken' ? outcome.lease : service.acquireLease({ ...request, ttlMs });
    },
  })),
  brokenService('queue.times-out', 'waits half as long', (service) => ({
    acquireLease: ({ waitMs = 60_000, ...request }) => service.acquireLease({ ...request, waitMs: waitMs / 2 }),
  })),
  brokenService('queue.times-out', 'says that it is never worth another try', (service) => ({
    acquireLease: (request) =>
      service.acquireLease(request).catch(() => Promise.reject(new SessionBusyError('busy', { retryable: false }))),
  })),
  brokenService('queue.default-wait', 'waits half as long unless asked', (service) => ({
    acquireLease: (request) => service.acquireLease({ waitMs: 30_000, ...request }),
  })),
  doesNotRenew('queue.gets-expired'),
  brokenDriver('queue.gets-expired', 'does not say when the lease expires', (driver) => ({
    claimLease(claim) {
      const outcome = driver.claimLease(claim);
      return outcome.status === 'busy' ? { status: 'busy', freeAtMs: Infinity } : outcome;
    },
  })),
  brokenService('queue.abort', 'says that it is busy when it was aborted', (service) => ({
    acquireLease: (request) =>
      service.acquireLease(request).catch(() => Promise.reject(new SessionBusyError('gave up'))),
  })),
  brokenService('queue.abort', 'does not hear the signal while it waits', (service) => ({
    acquireLease: ({ abortSignal, ...request }) =>
      service.acquireLease(abortSignal?.aborted ? { ...request, abortSignal } : request),
  })),
  brokenService('queue.timeout-leaves-line', 'gives the session to one who gave up', (service, driver, platform) => {
    let gone: SessionKey | undefined;
    return {
      acquireLease: (request) =>
        service.acquireLease(request).catch((error: unknown) => {
          gone = request;
          throw error;
        }),
      async releaseLease(lease) {
        driver.releaseLease(lease);
        if (gone) driver.claimLease({ ...gone, nowMs: platform.now(), ttlMs: 30_000, takeOver: false });
        await service.releaseLease(lease);
      },
    };
  }),
  brokenService('queue.interrupt', 'lets nobody interrupt', (service) => ({
    acquireLease: (request) =>
      service.acquireLease({
        ...request,
        onBusy: request.onBusy === 'interrupt' ? 'reject' : (request.onBusy ?? 'queue'),
      }),
  })),
  brokenService('queue.session-deleted', 'does not tell those who wait', (_, driver) => ({
    async deleteSession(key) {
      driver.deleteSession(key);
    },
  })),
  brokenService('queue.append-waits', 'interrupts for an append', (service) => ({
    async appendEvent(request) {
      if (request.lease) return service.appendEvent(request);
      const lease = await service.acquireLease({
        ...request.session,
        sessionId: request.session.id,
        onBusy: 'interrupt',
      });
      const stored = await service.appendEvent({ ...request, lease });
      await service.releaseLease(lease);
      return stored;
    },
  })),
  brokenService('queue.append-gives-up', 'says that it appended when it did not', (service) => ({
    appendEvent: (request) => service.appendEvent(request).catch(() => request.event),
  })),
  brokenService('queue.sessions-apart', 'has one line for all sessions', (service) => {
    let waiting = 0;
    return {
      async acquireLease(request) {
        if (waiting > 0 && request.sessionId === 'other') throw new SessionBusyError('somebody waits');
        waiting++;
        return service.acquireLease(request);
      },
    };
  }),
  brokenDriver('queue.mutual-exclusion', 'gives the lease that somebody has', (driver) => {
    const held = heldLeases(driver);
    return {
      claimLease(claim) {
        const outcome = held.claimLease(claim);
        const lease = held.of(claim);
        return outcome.status === 'busy' && lease ? { status: 'taken', lease } : outcome;
      },
    };
  }),
];

/** Takes note of the latest lease of each session. */
function heldLeases(driver: InMemorySessionDriver) {
  const latest = new Map<string, SessionLease>();
  const aliases = new Map<number, SessionLease>();
  return {
    claimLease: ((claim) =>
      withLease(driver.claimLease(claim), (lease) => {
        latest.set(claim.sessionId, lease);
        return lease;
      })) satisfies SessionDriver['claimLease'],
    of: (key: SessionKey): SessionLease | undefined => latest.get(key.sessionId),
    alias(lease: SessionLease, outcome: ClaimOutcome): void {
      if (outcome.status === 'taken') aliases.set(lease.epoch, outcome.lease);
    },
    aliasOf: (lease: SessionLease): SessionLease => aliases.get(lease.epoch) ?? lease,
  };
}

function withLease(outcome: ClaimOutcome, change: (lease: SessionLease) => SessionLease): ClaimOutcome {
  return outcome.status === 'taken' ? { status: 'taken', lease: change(outcome.lease) } : outcome;
}

function doesNotRenew(breaks: string): Mutant {
  return brokenDriver(breaks, 'does not renew a lease with an append', (driver) => {
    const until = new Map<number, number>();
    return {
      claimLease: (claim) =>
        withLease(driver.claimLease(claim), (lease) => {
          until.set(lease.epoch, claim.nowMs + claim.ttlMs);
          return lease;
        }),
      appendEvent({ lease, ...append }) {
        const ttlMs = (until.get(lease?.epoch ?? 0) ?? 0) - append.nowMs;
        return driver.appendEvent({ ...append, lease: lease && { ...lease, ttlMs: Math.max(1, ttlMs) } });
      },
    };
  });
}
