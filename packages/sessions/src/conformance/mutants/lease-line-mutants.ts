import { type AcquireLeaseRequest, SessionBusyError } from '@eventloom/core';
import { brokenService, type SessionMutant } from './mutant.ts';
import { brokenSharing } from './shared-driver.ts';

export const leaseLineMutants: readonly SessionMutant[] = [
  brokenService('queue.bounded', 'lets any number of callers wait', (service) => ({
    async acquireLease(request) {
      for (;;) {
        try {
          return await service.acquireLease(request);
        } catch (error) {
          if (!String(error).includes('callers already wait for it')) throw error;
          await new Promise((resolve) => setTimeout(resolve, 0));
        }
      }
    },
  })),
  brokenService('queue.bounded', 'lets too few callers wait', (service) =>
    limited(service.acquireLease.bind(service), 10),
  ),
  brokenService('queue.bounded', 'stays full after it was full once', (service) => {
    let isFull = false;
    return {
      async acquireLease(request) {
        if (isFull) throw new SessionBusyError('full');
        return service.acquireLease(request).catch((error: unknown) => {
          isFull ||= String(error).includes('callers already wait for it');
          throw error;
        });
      },
    };
  }),
  brokenSharing('queue.fair-between-services', 'ignores tickets', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, ticket: undefined }),
  })),
  brokenSharing('queue.fair-between-services', 'forgets when a wait began', (driver) => ({
    claimLease: (claim) =>
      driver.claimLease({ ...claim, ticket: claim.ticket && { ...claim.ticket, sinceMs: claim.nowMs } }),
  })),
  brokenSharing('queue.fair-between-services', 'expires tickets before they are renewed', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, ticket: claim.ticket && { ...claim.ticket, ttlMs: 1 } }),
  })),
  brokenSharing('queue.rejects-behind-others', 'prefers callers without a ticket', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, ticket: claim.ticket ?? { id: '', sinceMs: 0, ttlMs: 0 } }),
  })),
  brokenSharing('queue.rejects-behind-others', 'makes interrupts wait for queued callers', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, takeOver: false }),
  })),
  brokenSharing('queue.place-given-up', 'keeps the tickets of callers that gave up', () => ({ withdrawTicket() {} })),
];

function limited<T>(acquire: (request: AcquireLeaseRequest) => Promise<T>, most: number) {
  let waiting = 0;
  return {
    async acquireLease(request: AcquireLeaseRequest): Promise<T> {
      if (waiting >= most) throw new SessionBusyError('full');
      waiting++;
      return acquire(request).finally(() => waiting--);
    },
  };
}
