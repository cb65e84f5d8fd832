import { SessionBusyError, type SessionKey } from '@eventloom/core';
import { doesNotRenew, heldLeases } from './held-leases.ts';
import { brokenDriver, brokenService, type SessionMutant, NO_WAIT } from './mutant.ts';

export const queueMutants: readonly SessionMutant[] = [
  brokenService('queue.waits', 'rejects with queue', (service) => ({
    acquireLease: (request) => service.acquireLease({ ...request, onBusy: 'reject' }),
  })),
  brokenService('queue.in-order', 'serves the latest caller first', (service) => {
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
  brokenService('queue.not-overtaken', 'grants a free session before queued callers', (service, driver, platform) => ({
    async acquireLease({ ttlMs = 30_000, ...request }) {
      const claim = { ...request, ...NO_WAIT, ttlMs, nowMs: platform.now(), takeOver: request.onBusy === 'interrupt' };
      const outcome = driver.claimLease(claim);
      return outcome.status === 'taken' ? outcome.lease : service.acquireLease({ ...request, ttlMs });
    },
  })),
  brokenService('queue.times-out', 'waits half of waitMs', (service) => ({
    acquireLease: ({ waitMs = 60_000, ...request }) => service.acquireLease({ ...request, waitMs: waitMs / 2 }),
  })),
  brokenService('queue.times-out', 'marks SessionBusyError as not retryable', (service) => ({
    acquireLease: (request) =>
      service.acquireLease(request).catch(() => Promise.reject(new SessionBusyError('busy', { retryable: false }))),
  })),
  brokenService('queue.default-wait', 'waits 30 seconds by default', (service) => ({
    acquireLease: (request) => service.acquireLease({ waitMs: 30_000, ...request }),
  })),
  doesNotRenew('queue.gets-expired'),
  brokenDriver('queue.gets-expired', 'omits the expiry from the error', (driver) => ({
    claimLease(claim) {
      const outcome = driver.claimLease(claim);
      return outcome.status === 'busy' ? { status: 'busy', freeAtMs: Infinity } : outcome;
    },
  })),
  brokenService('queue.abort', 'throws SessionBusyError for an abort', (service) => ({
    acquireLease: (request) =>
      service.acquireLease(request).catch(() => Promise.reject(new SessionBusyError('the wait ended'))),
  })),
  brokenService('queue.abort', 'ignores the abort signal while it waits', (service) => ({
    acquireLease: ({ abortSignal, ...request }) =>
      service.acquireLease(abortSignal?.aborted ? { ...request, abortSignal } : request),
  })),
  brokenService(
    'queue.timeout-leaves-line',
    'grants the session to a caller that gave up',
    (service, driver, platform) => {
      let gone: SessionKey | undefined;
      return {
        acquireLease: (request) =>
          service.acquireLease(request).catch((error: unknown) => {
            gone = request;
            throw error;
          }),
        async releaseLease(lease) {
          driver.releaseLease(lease, false);
          if (gone) driver.claimLease({ ...gone, ...NO_WAIT, nowMs: platform.now(), ttlMs: 30_000, takeOver: false });
          await service.releaseLease(lease);
        },
      };
    },
  ),
  brokenService('queue.interrupt', 'does not interrupt', (service) => ({
    acquireLease: (request) =>
      service.acquireLease({
        ...request,
        onBusy: request.onBusy === 'interrupt' ? 'reject' : (request.onBusy ?? 'queue'),
      }),
  })),
  brokenService('queue.session-deleted', 'does not wake waiting callers', (_, driver) => ({
    async deleteSession(key) {
      driver.deleteSession(key);
    },
  })),
  brokenService('queue.append-waits', 'lets an append interrupt the owner', (service) => ({
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
  brokenService('queue.append-gives-up', 'returns an event without storing it', (service) => ({
    appendEvent: (request) => service.appendEvent(request).catch(() => request.event),
  })),
  brokenService('queue.sessions-apart', 'uses one queue for all sessions', (service) => {
    let waiting = 0;
    return {
      async acquireLease(request) {
        if (waiting > 0 && request.sessionId === 'other') throw new SessionBusyError('a caller waits');
        waiting++;
        return service.acquireLease(request);
      },
    };
  }),
  brokenDriver('queue.mutual-exclusion', 'returns the lease of the current owner', (driver) => {
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
