import type { SessionKey, SessionLease } from '@eventloom/core';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { ClaimOutcome } from '../../lease-claim.ts';
import type { SessionDriver } from '../../session-driver.ts';
import { brokenDriver, type SessionMutant } from './mutant.ts';

/** Records the latest lease of each session. */
export function heldLeases(driver: InMemorySessionDriver) {
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

export function withLease(outcome: ClaimOutcome, change: (lease: SessionLease) => SessionLease): ClaimOutcome {
  return outcome.status === 'taken' ? { status: 'taken', lease: change(outcome.lease) } : outcome;
}

/** Creates a mutant whose appends do not renew their lease. */
export function doesNotRenew(breaks: string): SessionMutant {
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

/** Creates a mutant whose new sessions restart with the first epoch, so that leases of a deleted session become valid again. */
export function restartsEpochs(breaks: string): SessionMutant {
  return brokenDriver(breaks, 'restarts epochs with a new session', (driver) => {
    let base = 0;
    let last = 0;
    const inner = (lease: SessionLease): SessionLease => ({ ...lease, epoch: lease.epoch + base });
    return {
      createSession(creation) {
        base = last;
        return driver.createSession(creation);
      },
      importSession(session) {
        base = last;
        return driver.importSession(session);
      },
      claimLease: (claim) =>
        withLease(driver.claimLease(claim), (lease) => {
          last = lease.epoch;
          return { ...lease, epoch: lease.epoch - base };
        }),
      appendEvent: (append) => driver.appendEvent({ ...append, lease: append.lease && inner(append.lease) }),
      renewLease: (lease, nowMs) => driver.renewLease(inner(lease), nowMs),
      releaseLease: (lease, keepRunOpen) => driver.releaseLease(inner(lease), keepRunOpen),
      recordToolCall: (lease, entry) => driver.recordToolCall(inner(lease), entry),
    };
  });
}
