import type { SessionImport, StateEntry } from '../../session-driver.ts';
import { restartsEpochs } from './held-leases.ts';
import { brokenDriver, brokenService, type SessionMutant, NO_WAIT } from './mutant.ts';

export const importMutants: readonly SessionMutant[] = [
  brokenImport('import.lossless', 'drops the tool calls', (session) => ({ ...session, toolCalls: [] })),
  brokenImport('import.lossless', 'sorts tool calls by id', (session) => ({
    ...session,
    toolCalls: session.toolCalls.toSorted((one, other) => (one.entryId < other.entryId ? -1 : 1)),
  })),
  brokenImport('import.lossless', 'sorts events by time', (session) => ({
    ...session,
    events: session.events.toSorted((one, other) => one.timestamp - other.timestamp),
  })),
  brokenImport('import.lossless', 'rounds times to seconds', (session) => ({
    ...session,
    updatedAtMs: Math.floor(session.updatedAtMs / 1000) * 1000,
  })),
  brokenImport('import.lossless', 'uses the last state as the initial state', (session) => ({
    ...session,
    initialState: session.state,
  })),
  brokenImport('import.lossless', 'drops __proto__', (session) => ({
    ...session,
    state: session.state.filter(({ key }) => key !== '__proto__'),
  })),
  brokenImport('import.exports-the-same', 'drops the initial state', (session) => ({ ...session, initialState: [] })),
  brokenImport('import.exports-the-same', 'finishes every tool call', (session) => ({
    ...session,
    toolCalls: session.toolCalls.map((call) => ({ ...call, status: 'finished' })),
  })),
  brokenService('import.returns-session', 'returns the session without events', (service) => ({
    importSession: async (request) => ({ ...(await service.importSession(request)), events: [] }),
  })),
  brokenDriver('import.returns-session', 'stores the returned values without a copy', (driver) => {
    let kept: readonly StateEntry[] = [];
    return {
      importSession(session) {
        const created = driver.importSession(session);
        kept = created?.state ?? [];
        return created;
      },
      readSession(key, window) {
        const stored = driver.readSession(key, window);
        return stored && { ...stored, state: kept };
      },
    };
  }),
  brokenService('import.names', 'ignores the requested user', (service) => ({
    importSession: (request) => service.importSession({ ...request, userId: undefined }),
  })),
  brokenService('import.names', 'generates a new id', (service, _, platform) => ({
    importSession: (request) => service.importSession({ sessionId: platform.newUuid(), ...request }),
  })),
  brokenDriver('import.existing-refused', 'replaces an existing session', (driver) => ({
    importSession(session) {
      driver.deleteSession(session);
      return driver.importSession(session);
    },
  })),
  brokenDriver('import.existing-refused', 'writes shared state before a refusal', (driver) => ({
    importSession(session) {
      const created = driver.importSession(session);
      if (!created) driver.importSession({ ...session, sessionId: 'ghost' });
      return created;
    },
  })),
  brokenDriver('import.one-wins', 'checks before it stores, in two steps', (driver) => ({
    async importSession(session) {
      if (driver.readBackground(session)) return undefined;
      await Promise.resolve();
      driver.deleteSession(session);
      return driver.importSession(session);
    },
  })),
  brokenDriver('import.shared-state', 'overwrites user state', (driver) => ({
    importSession(session) {
      const { sharedState } = session;
      driver.createSession({ ...session, sessionId: 'ghost', writes: sharedState, nowMs: 0 });
      return driver.importSession(session);
    },
  })),
  brokenImport('import.shared-state', 'does not import shared state', (session) => ({ ...session, sharedState: [] })),
  brokenDriver('import.shared-state', 'treats null as absent', (driver) => ({
    importSession(session) {
      const other = driver.readBackground({ ...session, sessionId: 'other' });
      const nulls = other?.state.filter(({ value }) => value === null).map(({ key }) => key) ?? [];
      const writes = session.sharedState.filter(({ key }) => nulls.includes(key));
      driver.createSession({ ...session, sessionId: 'ghost', writes, nowMs: 0 });
      return driver.importSession(session);
    },
  })),
  brokenDriver('import.goes-on', 'does not recognise duplicates of imported events', (driver) => {
    const imported = new Set<string>();
    return {
      importSession(session) {
        for (const { id } of session.events) imported.add(id);
        return driver.importSession(session);
      },
      appendEvent(append) {
        const { id } = append.event;
        return driver.appendEvent(
          imported.has(id) ? { ...append, event: { ...append.event, id: `${id} again` } } : append,
        );
      },
    };
  }),
  brokenDriver('import.goes-on', 'leaves the imported session locked', (driver) => ({
    importSession(session) {
      const created = driver.importSession(session);
      driver.claimLease({ ...session, ...NO_WAIT, nowMs: session.updatedAtMs, ttlMs: 1e15, takeOver: true });
      return created;
    },
  })),
  brokenDriver('import.goes-on', 'lists outdated sessions after an import', (driver) => {
    const order: string[] = [];
    return {
      importSession(session) {
        order.unshift(session.sessionId);
        return driver.importSession(session);
      },
      listSessions: (page) =>
        driver
          .listSessions(page)
          .toSorted((one, other) => order.indexOf(one.sessionId) - order.indexOf(other.sessionId)),
    };
  }),
  brokenImport('import.goes-on', 'overwrites imported tool calls', (session) => ({
    ...session,
    toolCalls: session.toolCalls.map((call) => ({ ...call, status: 'started' })),
  })),
  brokenImport('import.time-ahead', 'keeps a last update time in the future', (session) => ({
    ...session,
    updatedAtMs: session.updatedAtMs + 86_400_000,
  })),
  brokenDriver('import.time-ahead', 'starts leases at the last update time', (driver) => ({
    claimLease: (claim) => driver.claimLease({ ...claim, ttlMs: 1e15 }),
  })),
  restartsEpochs('import.recreated'),
  brokenDriver('import.recreated', 'keeps the incarnation of the deleted session', (driver) => ({
    appendEvent(append) {
      const incarnation = driver.readBackground(append)?.incarnation ?? append.incarnation;
      return driver.appendEvent({ ...append, incarnation });
    },
  })),
];

/** Creates a mutant that changes the imported session. */
function brokenImport(breaks: string, how: string, change: (session: SessionImport) => SessionImport): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({ importSession: (session) => driver.importSession(change(session)) }));
}
