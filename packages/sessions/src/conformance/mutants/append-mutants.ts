import { createEventActions, type Event } from '@eventloom/core';
import { idsOf } from '../samples.ts';
import { brokenEvents } from './broken-events.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const appendMutants: readonly SessionMutant[] = [
  brokenDriver('append.sealed', 'returns the stored object itself', (driver) => ({
    appendEvent: (append) => driver.appendEvent({ ...append, event: structuredClone(append.event) }),
  })),
  brokenService('append.json-only', 'stores an event after dropping what is not JSON', (service) => ({
    appendEvent: (request) =>
      service.appendEvent({ ...request, event: JSON.parse(JSON.stringify(request.event)) as Event }),
  })),
  brokenDriver('append.returns-stored', 'stores only known fields', (driver) => ({
    appendEvent: (append) =>
      driver.appendEvent({ ...append, event: { ...append.event, somethingNew: undefined } as Event }),
  })),
  brokenService('append.returns-stored', 'returns only the id', (service) => ({
    appendEvent: async (request) => ({ id: (await service.appendEvent(request)).id }) as Event,
  })),
  brokenEvents('append.order', 'sorts events by id', (events) => events.toSorted((a, b) => (a.id < b.id ? -1 : 1))),
  brokenService('append.updates-session', 'does not update the session object', (service) => ({
    appendEvent: (request) => service.appendEvent({ ...request, session: structuredClone(request.session) }),
  })),
  brokenService('append.updates-session', 'does not update lastUpdateTime', (service) => ({
    async appendEvent(request) {
      const { lastUpdateTime } = request.session;
      const stored = await service.appendEvent(request);
      request.session.lastUpdateTime = lastUpdateTime;
      return stored;
    },
  })),
  brokenDriver('append.update-time', "uses the event's timestamp as lastUpdateTime", (driver) => ({
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      return stored && { ...stored, updatedAtMs: (stored.events.at(-1)?.timestamp ?? 0) * 1000 };
    },
  })),
  brokenService('append.partial-not-stored', 'stores partial events', (service) => ({
    appendEvent: (request) => service.appendEvent({ ...request, event: { ...request.event, partial: false } }),
  })),
  brokenDriver('append.duplicate-id', 'stores a duplicate under another id', (driver) => ({
    appendEvent(append) {
      const outcome = driver.appendEvent(append);
      if (outcome.status !== 'duplicate') return outcome;
      return driver.appendEvent({ ...append, event: { ...append.event, id: `${append.event.id} again` } });
    },
  })),
  brokenService('append.duplicate-id', 'returns the new event', (service) => ({
    async appendEvent(request) {
      await service.appendEvent(request);
      return request.event;
    },
  })),
  brokenDriver('append.duplicate-id', 'applies the state of a duplicate', (driver) => ({
    appendEvent(append) {
      const outcome = driver.appendEvent(append);
      if (outcome.status === 'duplicate') driver.createSession({ ...append, sessionId: 'ghost' });
      return outcome;
    },
  })),
  brokenService('append.repeated', 'ignores temp: keys of a duplicate', (service) => {
    const known = new Set<string>();
    return {
      appendEvent(request) {
        const { session, event } = request;
        const isRepeated = known.has(event.id);
        known.add(event.id);
        return service.appendEvent(
          isRepeated ? { session, event: { ...event, actions: createEventActions() } } : request,
        );
      },
    };
  }),
  brokenDriver('append.missing-session', 'creates a missing session', (driver) => ({
    appendEvent(append) {
      const outcome = driver.appendEvent(append);
      if (outcome.status !== 'missing') return outcome;
      driver.createSession({ ...append, writes: [] });
      return { status: 'stored', seq: 1 };
    },
  })),
  brokenDriver('append.missing-session', 'checks the lease before the session', (driver) => ({
    appendEvent(append) {
      const outcome = driver.appendEvent(append);
      return outcome.status === 'missing' && append.lease ? { status: 'stale' } : outcome;
    },
  })),
  brokenDriver('append.catches-up', 'does not read events of other writers', (driver) => ({
    readSession(key, window) {
      const stored = driver.readSession(key, window);
      return stored && window.afterSeq > 0 ? { ...stored, events: stored.events.slice(-1) } : stored;
    },
  })),
  brokenService('append.catches-up', 'drops temp: keys when it reads missing events', (service) => ({
    async appendEvent(request) {
      const { session } = request;
      const behind = session.lastSeq;
      const stored = await service.appendEvent(request);
      if (session.lastSeq > behind + 1) Reflect.deleteProperty(session.state, 'temp:scratch');
      return stored;
    },
  })),
  brokenService('append.windowed-session', 'reads all events again', (service) => ({
    async appendEvent(request) {
      const stored = await service.appendEvent(request);
      const { session } = request;
      const whole = await service.getSession({ ...session, sessionId: session.id });
      session.events.splice(0, Infinity, ...(whole?.events ?? []));
      return stored;
    },
  })),
  brokenService('append.concurrent', 'drops an append during another one', (service) => {
    let busy = false;
    return {
      async appendEvent(request) {
        if (busy) return request.event;
        busy = true;
        const stored = await service.appendEvent(request);
        busy = false;
        return stored;
      },
    };
  }),
  brokenService('append.one-object-concurrently', 'adds events to the object in the order of completion', (service) => {
    let waits = 40;
    return {
      async appendEvent(request) {
        const { session } = request;
        const stored = await service.appendEvent({ ...request, session: { ...session, events: [], state: {} } });
        for (let turn = waits--; turn > 0; turn--) await Promise.resolve();
        session.events.push(stored);
        Object.assign(session.state, stored.actions.stateDelta);
        return stored;
      },
    };
  }),
  brokenService('append.lease-of-another-session', 'accepts any lease', (service) => ({
    appendEvent: (request) => service.appendEvent({ ...request, lease: undefined }),
  })),
  brokenDriver('append.lease-of-another-session', 'accepts any higher epoch', (driver) => ({
    appendEvent(append) {
      const outcome = driver.appendEvent(append);
      return outcome.status === 'stale' && (append.lease?.epoch ?? 0) > 1000
        ? driver.appendEvent({ ...append, lease: undefined })
        : outcome;
    },
  })),
  brokenService('append.order', 'skips every tenth event', (service) => ({
    appendEvent: (request) =>
      idsOf(request.session).length % 10 === 9 ? Promise.resolve(request.event) : service.appendEvent(request),
  })),
];
