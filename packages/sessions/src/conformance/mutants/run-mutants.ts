import { SessionNotFoundError, StaleWriterError, toError } from '@eventloom/core';
import type { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { BeginOutcome, RunClaim, RunMessage } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';
import { brokenSharing } from './shared-driver.ts';

function withMessage(claim: RunClaim, change: (message: RunMessage) => RunMessage): RunClaim {
  const { message } = claim;
  return { ...claim, message: message && ((coveredUntil) => change(message(coveredUntil))) };
}

/** Begins a run in three steps, like a driver without transactions. */
function beginInSteps(driver: InMemorySessionDriver, claim: RunClaim): BeginOutcome {
  if (claim.create) driver.createSession({ ...claim, writes: [] });
  const claimed = driver.claimLease(claim);
  const session = driver.readSession(claim, claim.window);
  if (claimed.status !== 'taken' || !session) return { status: 'missing' };
  const message = claim.message?.(-Infinity);
  const append = message && { ...claim, ...message, incarnation: session.incarnation, lease: claimed.lease };
  const outcome = append && driver.appendEvent(append);
  const duplicate = outcome?.status === 'duplicate' ? outcome.event : undefined;
  return { ...claimed, session, duplicate, firstSeq: session.lastSeq + 1, wasOpen: false };
}

export const runMutants: readonly SessionMutant[] = [
  brokenDriver('run.begins', 'returns no events', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, window: { ...claim.window, limit: 0 } }),
  })),
  brokenDriver('run.begins', 'grants a lease without a run', (driver) => ({
    beginRun(claim) {
      const outcome = driver.beginRun(claim);
      if (outcome.status !== 'taken') return outcome;
      const { invocationId: _, ...lease } = outcome.lease;
      return { ...outcome, lease };
    },
  })),
  brokenService('run.begins', 'omits the message from the session', (service) => ({
    async beginRun(request) {
      const begun = await service.beginRun(request);
      begun.session.events.pop();
      return begun;
    },
  })),
  brokenService('run.begins', 'returns no message', (service) => ({
    beginRun: async (request) => ({ ...(await service.beginRun(request)), message: undefined }),
  })),
  brokenDriver('run.begins-with-window', 'ignores the requested window', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, window: { ...claim.window, afterSeq: 0, limit: undefined } }),
  })),
  brokenService('run.begins-with-window', 'counts the message towards the window', (service) => ({
    async beginRun(request) {
      const begun = await service.beginRun(request);
      const limit = request.read?.numRecentEvents ?? Infinity;
      begun.session.events.splice(0, begun.session.events.length - limit);
      return begun;
    },
  })),
  brokenService('run.begins-without-message', 'appends an empty message', (service) => ({
    async beginRun(request) {
      const begun = await service.beginRun(request);
      const { session, lease } = begun;
      const event = { id: 'invented', invocationId: '', author: 'user', timestamp: 1 };
      const actions = { stateDelta: {}, artifactDelta: {} };
      if (!begun.message) await service.appendEvent({ session, lease, event: { ...event, actions } });
      return begun;
    },
  })),
  brokenDriver('run.missing-session', 'always creates the session', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, create: true }),
  })),
  brokenDriver('run.missing-session', 'creates a session before a refusal', (driver) => ({
    beginRun(claim) {
      const outcome = driver.beginRun(claim);
      if (outcome.status === 'missing') driver.createSession({ ...claim, writes: [] });
      return outcome;
    },
  })),
  brokenDriver('run.creates', 'does not create the session', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, create: false }),
  })),
  brokenDriver('run.creates', 'replaces an existing session', (driver) => ({
    beginRun(claim) {
      if (claim.create) driver.deleteSession(claim);
      return driver.beginRun(claim);
    },
  })),
  brokenSharing('run.creates-once', 'throws for the second of two concurrent creations', (driver) => {
    let created = false;
    return {
      beginRun(claim) {
        if (created && claim.create) throw new SessionNotFoundError('created by another caller');
        created = true;
        return driver.beginRun(claim);
      },
    };
  }),
  brokenService('run.creates-once', 'does not wake waiting callers at endRun', (service) => ({
    async endRun(lease, { event, session }) {
      if (event) await service.appendEvent({ session, event, lease });
      return event;
    },
  })),
  brokenDriver('run.deleted-during-wait', 'creates the session again', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, create: true }),
  })),
  brokenDriver('run.message-state', 'ignores the state of the message', (driver) => ({
    beginRun: (claim) => driver.beginRun(withMessage(claim, (message) => ({ ...message, writes: [] }))),
  })),
  brokenService('run.message-state', 'omits temp: keys of the message', (service) => ({
    async beginRun(request) {
      const begun = await service.beginRun(request);
      Reflect.deleteProperty(begun.session.state, 'temp:scratch');
      return begun;
    },
  })),
  brokenDriver('run.bad-message-new-session', 'creates the session before it checks the message', (driver) => ({
    beginRun: (claim) => beginInSteps(driver, claim),
  })),
  brokenDriver('run.bad-message', 'acquires the lease before it checks the message', (driver) => ({
    beginRun: (claim) => beginInSteps(driver, { ...claim, create: false }),
  })),
  brokenService('run.bad-message', 'begins a run without an invalid message', (service) => ({
    async beginRun(request) {
      try {
        return await service.beginRun(request);
      } catch (error) {
        if (toError(error).name === 'SessionNotFoundError') throw error;
        return service.beginRun({ ...request, message: undefined });
      }
    },
  })),
  brokenService('run.bad-names', 'corrects invalid arguments', (service) => ({
    beginRun: (request) =>
      service.beginRun({
        ...request,
        ttlMs: 1000,
        waitMs: 0,
        read: undefined,
        invocationId: request.invocationId.replaceAll('\0', '') || 'e-0',
      }),
  })),
  brokenDriver('run.same-message', 'stores a duplicate under another id', (driver) => ({
    beginRun: (claim) =>
      driver.beginRun(
        withMessage(claim, ({ event, writes }) => ({ event: { ...event, id: `${event.id} again` }, writes })),
      ),
  })),
  brokenService('run.same-message', 'returns the new message', (service) => ({
    beginRun: async (request) => ({ ...(await service.beginRun(request)), message: request.message }),
  })),
  brokenService('run.message-time', 'dates the message at the call', (service, _, platform) => ({
    beginRun: ({ message, ...request }) =>
      service.beginRun({
        ...request,
        message: message && { ...message, timestamp: message.timestamp || platform.now() / 1000 },
      }),
  })),
  brokenDriver('run.message-time', 'ignores compacted ranges', (driver) => ({
    beginRun({ message, ...claim }) {
      return driver.beginRun({ ...claim, message: message && (() => message(-Infinity)) });
    },
  })),
  brokenDriver('run.ends-open', 'does not count the attempt', (driver) => ({
    endRun: (end) => driver.endRun({ ...end, keepRunOpen: end.keepRunOpen && 'without-attempt' }),
  })),
  brokenDriver('run.unfinished-waits', 'takes over every session', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, takeOver: true }),
  })),
  brokenDriver('run.unfinished-interrupt', 'never takes over a session', (driver) => ({
    beginRun: (claim) => driver.beginRun({ ...claim, takeOver: false }),
  })),
  brokenDriver('run.ends', 'does not release the lease', (driver) => ({ endRun: (end) => driver.appendEvent(end) })),
  brokenDriver('run.ends', 'never ends a run', (driver) => ({
    endRun: (end) => driver.endRun({ ...end, keepRunOpen: true }),
  })),
  brokenDriver('run.ends', 'does not append the event', (driver) => ({
    endRun(end) {
      driver.releaseLease(end.lease, end.keepRunOpen);
      return { status: 'stored', seq: 2 };
    },
  })),
  brokenService('run.ends', 'does not update the session object', (service) => ({
    endRun: (lease, request) => service.endRun(lease, { ...request, session: structuredClone(request.session) }),
  })),
  brokenDriver('run.ends-open', 'ignores keepRunOpen', (driver) => ({
    endRun: (end) => driver.endRun({ ...end, keepRunOpen: false }),
  })),
  brokenDriver('run.ends-open', 'ignores without-attempt', (driver) => ({
    endRun: (end) => driver.endRun({ ...end, keepRunOpen: end.keepRunOpen !== false }),
  })),
  brokenService('run.ends-without-event', 'does not release the lease without an event', (service) => ({
    endRun: async (lease, request) => (request.event ? service.endRun(lease, request) : undefined),
  })),
  brokenDriver('run.ends-without-event', 'releases the session under a stale lease', (driver) => ({
    releaseLease(lease, keepRunOpen, changes) {
      const isLive = driver.releaseLease(lease, keepRunOpen, changes);
      for (let { epoch } = lease; epoch < lease.epoch + 9; epoch++)
        driver.releaseLease({ ...lease, epoch }, keepRunOpen);
      return isLive;
    },
  })),
  brokenService('run.ends-without-event', 'refuses an end that it has stored', (service) => {
    const released = new Set<number>();
    return {
      async endRun(lease, request) {
        if (!request.event && released.has(lease.epoch)) throw new StaleWriterError('released');
        released.add(lease.epoch);
        return service.endRun(lease, request);
      },
    };
  }),
  brokenDriver('run.ends-lost', 'does not report a lost lease', (driver) => ({
    releaseLease: (lease, keepRunOpen, changes) => driver.releaseLease(lease, keepRunOpen, changes) || true,
  })),
  brokenDriver('run.ends-again', 'checks the lease before the session', (driver) => ({
    endRun(end) {
      const outcome = driver.appendEvent(end);
      if (outcome.status === 'stored') driver.releaseLease(end.lease, end.keepRunOpen);
      return outcome;
    },
  })),
  brokenDriver('run.ends-again', 'does not release the lease for a duplicate', (driver) => ({
    endRun(end) {
      const outcome = driver.appendEvent(end);
      if (outcome.status === 'duplicate') return outcome;
      return driver.endRun(end);
    },
  })),
  brokenDriver('run.ends-stale', 'appends under a stale lease', (driver) => ({
    endRun: (end) => driver.endRun({ ...end, lease: { ...end.lease, epoch: end.lease.epoch + 1 } }),
  })),
  brokenService('run.ends-stale', 'returns normally under a stale lease', (service) => ({
    async endRun(lease, request) {
      return service.endRun(lease, request).catch(() => undefined);
    },
  })),
  brokenService('run.bad-end', 'releases the session before it checks the event', (service) => ({
    async endRun(lease, request) {
      try {
        return await service.endRun(lease, request);
      } catch (error) {
        await service.releaseLease(lease);
        throw error;
      }
    },
  })),
];
