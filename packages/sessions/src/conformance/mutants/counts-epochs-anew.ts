import type { SessionLease } from '@eventloom/core';
import { withLease } from './held-leases.ts';
import { brokenDriver, type Mutant } from './mutant.ts';

/** A mutant whose new sessions begin again with the first epoch, so that the leases of a deleted one come back to life. */
export function countsEpochsAnew(breaks: string): Mutant {
  return brokenDriver(breaks, 'counts epochs anew with a new session', (driver) => {
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
      releaseLease: (lease, leaveOpen) => driver.releaseLease(inner(lease), leaveOpen),
      recordToolCall: (lease, entry) => driver.recordToolCall(inner(lease), entry),
    };
  });
}
