import {
  InvalidRequestError,
  SessionNotFoundError,
  StorageError,
  type Session,
  type ToolLedgerEntry,
} from '@eventloom/core';
import { InMemorySessionDriver } from '../../in-memory-session-driver.ts';
import type { StoredSession } from '../../session-driver.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';
import { ALL_EVENTS } from '../../session-view.ts';

export const sessionMutants: readonly SessionMutant[] = [
  brokenDriver('session.new-is-empty', 'returns another creation time than it stores', (driver) => ({
    createSession: (creation) => driver.createSession({ ...creation, nowMs: creation.nowMs + 1 }),
  })),
  brokenService('session.id-made-up', 'generates the same id twice', (service) => ({
    createSession: (request) => service.createSession({ sessionId: 'session', ...request }),
  })),
  brokenService('session.existing-id-refused', 'returns the existing session', (service) => ({
    createSession: (request) =>
      service.createSession(request).catch(async () => (await service.getSession(request as never)) as Session),
  })),
  brokenDriver('session.existing-id-refused', 'writes shared state before a refusal', (driver) => ({
    createSession(creation) {
      const created = driver.createSession(creation);
      if (!created) driver.createSession({ ...creation, sessionId: 'ghost' });
      return created;
    },
  })),
  brokenDriver('session.check-writable', 'leaves a session behind', (driver) => ({
    checkWritable() {
      driver.createSession({ appName: 'app', userId: 'user', sessionId: 'probe', writes: [], nowMs: 0 });
    },
  })),
  brokenDriver('session.check-writable', 'fails the second time', () => {
    let isChecked = false;
    return {
      checkWritable() {
        if (isChecked) throw new StorageError('a second probe');
        isChecked = true;
      },
    };
  }),
  brokenDriver('session.one-creator-wins', 'lets the last creator win', (driver) => ({
    createSession(creation) {
      driver.deleteSession(creation);
      return driver.createSession(creation);
    },
  })),
  brokenDriver('session.missing-is-undefined', 'creates a session when it is read', (driver) => ({
    readSession(key, window) {
      driver.createSession({ ...key, writes: [], nowMs: 0 });
      return driver.readSession(key, window);
    },
  })),
  brokenService('session.get-or-create', 'creates a session without a check for an existing one', (service) => ({
    getOrCreateSession: (request) => service.createSession(request),
  })),
  brokenDriver('session.users-and-apps-apart', 'joins names with a slash', (driver) => {
    const joined = <T extends { appName: string; userId: string; sessionId: string }>(key: T): T => ({
      ...key,
      sessionId: `${key.appName}/${key.userId}/${key.sessionId}`,
      appName: 'all',
      userId: 'all',
    });
    return {
      createSession: (creation) => driver.createSession(joined(creation)),
      readSession: (key, window) => driver.readSession(joined(key), window),
      appendEvent: (append) => driver.appendEvent(joined(append)),
    };
  }),
  brokenDriver('session.users-and-apps-apart', 'ignores the user', (driver) => {
    const anybody = <T extends object>(key: T): T => ({ ...key, userId: 'anybody' });
    return {
      createSession: (creation) => driver.createSession(anybody(creation)),
      readSession: (key, window) => driver.readSession(anybody(key), window),
      appendEvent: (append) => driver.appendEvent(anybody(append)),
    };
  }),
  brokenDriver('session.odd-names', 'normalises names', (driver) => ({
    readSession(key, window): StoredSession | undefined {
      const stored = driver.readSession(key, window);
      return stored && { ...stored, sessionId: stored.sessionId.normalize('NFC').trim() };
    },
  })),
  brokenService('session.bad-names-refused', 'accepts an invalid name in reads', (service) => ({
    getSession: (request) => service.getSession(request).catch(() => undefined),
  })),
  brokenService('session.bad-names-refused', 'does not name the invalid field', (service) => ({
    createSession: (request) =>
      service.createSession(request).catch(() => Promise.reject(new InvalidRequestError('a name is invalid'))),
  })),
  brokenService('session.own-copy', 'returns the same object to every reader', (service) => {
    const given = new Map<string, Session | undefined>();
    return {
      async getSession(request) {
        if (!given.has(request.sessionId)) given.set(request.sessionId, await service.getSession(request));
        return given.get(request.sessionId);
      },
    };
  }),
  brokenService('session.own-copy', 'copies state shallowly', (service) => {
    const states = new Map<string, object>();
    return {
      async getSession(request) {
        const session = await service.getSession(request);
        if (!session) return undefined;
        const state = states.get(request.sessionId) ?? { ...session.state };
        states.set(request.sessionId, state);
        return { ...session, state: { ...state } };
      },
    };
  }),
  brokenService('session.created-own-copy', 'stores the returned state object', (service) => {
    const states = new Map<string, Record<string, unknown>>();
    return {
      async createSession(request) {
        const session = await service.createSession(request);
        states.set(session.id, session.state);
        return session;
      },
      async getSession(request) {
        const session = await service.getSession(request);
        return session && { ...session, state: states.get(session.id) ?? {} };
      },
    };
  }),
  brokenDriver('session.delete-removes-all', 'deletes only the state', () => ({ deleteSession() {} })),
  brokenDriver('session.delete-removes-all', 'does not delete the ledger', (driver) => {
    const ledger: ToolLedgerEntry[] = [];
    return {
      recordToolCall: (lease, entry) => driver.recordToolCall(lease, entry) && ledger.push(entry) > 0,
      listToolCalls: () => ledger,
    };
  }),
  brokenDriver('session.delete-keeps-shared-state', 'also deletes user and app state', forgetful),
  brokenDriver('session.delete-touches-no-other', 'deletes all sessions', forgetful),
  brokenDriver('session.delete-missing-is-no-op', 'throws for a missing session', (driver) => ({
    deleteSession(key) {
      if (!driver.readSession(key, NOTHING)) throw new SessionNotFoundError('missing');
      driver.deleteSession(key);
    },
  })),
  brokenDriver('session.incarnation', 'treats a new session as the deleted one', (driver) => ({
    appendEvent(append) {
      const incarnation = driver.readSession(append, NOTHING)?.incarnation ?? append.incarnation;
      return driver.appendEvent({ ...append, incarnation });
    },
  })),
];

const NOTHING = { ...ALL_EVENTS, limit: 0 };

function forgetful(first: InMemorySessionDriver): Partial<InMemorySessionDriver> {
  let driver = first;
  return {
    createSession: (creation) => driver.createSession(creation),
    readSession: (key, window) => driver.readSession(key, window),
    appendEvent: (append) => driver.appendEvent(append),
    deleteSession() {
      driver = new InMemorySessionDriver();
    },
  };
}
