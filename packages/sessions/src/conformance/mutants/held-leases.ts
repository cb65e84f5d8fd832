import type { SessionKey, SessionLease } from '@eventloom/core';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { ClaimOutcome } from '../../lease-claim.ts';
import type { SessionDriver } from '../../session-driver.ts';

/** Takes note of the latest lease of each session. */
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
