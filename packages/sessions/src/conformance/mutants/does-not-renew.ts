import { withLease } from './held-leases.ts';
import { brokenDriver, type Mutant } from './mutant.ts';

/** A mutant whose appends do not renew their lease. */
export function doesNotRenew(breaks: string): Mutant {
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
