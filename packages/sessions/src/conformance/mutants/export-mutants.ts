import { type SessionKey, SessionNotFoundError, type SessionRecord } from '@eventloom/core';
import type { SessionBackground } from '../../session-driver.ts';
import { exportAll } from '../records.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

export const exportMutants: readonly SessionMutant[] = [
  brokenRecords('export.records', 'does not yield the end record', (records) => records.slice(0, -1)),
  brokenRecords('export.records', 'orders events by time', (records) =>
    records.toSorted((one, other) =>
      one.type === 'event' && other.type === 'event' ? one.event.timestamp - other.event.timestamp : 0,
    ),
  ),
  brokenBackground('export.records', 'omits app state', (session) => ({
    ...session,
    state: session.state.filter(({ scope }) => scope !== 'app'),
  })),
  brokenBackground('export.initial-state', 'exports the current state as the initial state', (session) => ({
    ...session,
    initialState: session.state.filter(({ scope }) => scope === 'session'),
  })),
  brokenDriver('export.initial-state', 'keeps the initial state of a deleted session', (driver) => {
    const first = new Map<string, SessionBackground['initialState']>();
    return {
      readBackground(key) {
        const session = driver.readBackground(key);
        if (session && !first.has(key.sessionId)) first.set(key.sessionId, session.initialState);
        return session && { ...session, initialState: first.get(key.sessionId) ?? [] };
      },
    };
  }),
  brokenService('export.one-moment', 'reads a new state after the header', (service) => ({
    async *exportSession(key) {
      for (const record of await exportAll(service, key)) if (record.type === 'session') yield record;
      for (const record of await exportAll(service, key)) if (record.type !== 'session') yield record;
    },
  })),
  brokenDriver('export.beside-a-writer', 'reads tool calls in a later transaction', (driver) => ({
    async readBackground(key) {
      const session = driver.readBackground(key);
      await severalTurns();
      const later = driver.readBackground(key);
      return session && later && { ...session, toolCalls: later.toolCalls };
    },
  })),
  brokenDriver('export.beside-a-writer', 'reads the state in a later transaction', (driver) => ({
    async readBackground(key) {
      const session = driver.readBackground(key);
      await severalTurns();
      const later = driver.readBackground(key);
      return session && later && { ...later, lastSeq: session.lastSeq };
    },
  })),
  brokenDriver('export.long-session', 'drops the first event of each page but the first', (driver) => ({
    readEvents(key, window) {
      const found = driver.readEvents(key, window);
      return found && window.afterSeq > 0 ? { ...found, events: found.events.slice(1) } : found;
    },
  })),
  brokenRecords('export.long-session', 'exports only 1,000 events', (records) =>
    records.filter((_, index) => index <= 1000 || index === records.length - 1),
  ),
  brokenService('export.missing-session', 'exports nothing for a missing session', (service) => ({
    async *exportSession(key) {
      if (await service.getSession(key)) yield* service.exportSession(key);
    },
  })),
  brokenService('export.deleted-midway', 'ends silently when the session is deleted', (service) => ({
    async *exportSession(key) {
      try {
        yield* service.exportSession(key);
      } catch (error) {
        if (!SessionNotFoundError.isInstance(error)) throw error;
      }
    },
  })),
  brokenDriver('export.deleted-midway', 'continues with the recreated session', (driver) => ({
    readBackground(key) {
      const session = driver.readBackground(key);
      return session && { ...session, incarnation: 'same' };
    },
    readEvents(key, window) {
      const found = driver.readEvents(key, window);
      return found && { ...found, incarnation: 'same' };
    },
  })),
  brokenService('export.own-copy', 'yields the same record objects again', (service) => {
    const given = new Map<string, Promise<SessionRecord[]>>();
    return {
      async *exportSession(key) {
        const records = given.get(key.sessionId) ?? exportAll(service, key);
        given.set(key.sessionId, records);
        yield* await records;
      },
    };
  }),
];

/** Creates a mutant that changes the records of an export. */
function brokenRecords(
  breaks: string,
  how: string,
  change: (records: SessionRecord[]) => readonly SessionRecord[],
): SessionMutant {
  return brokenService(breaks, how, (service) => ({
    async *exportSession(key: SessionKey) {
      yield* change(await exportAll(service, key));
    },
  }));
}

/** Creates a mutant that changes the data with which an export begins. */
function brokenBackground(
  breaks: string,
  how: string,
  change: (session: SessionBackground) => SessionBackground,
): SessionMutant {
  return brokenDriver(breaks, how, (driver) => ({
    readBackground(key) {
      const session = driver.readBackground(key);
      return session && change(session);
    },
  }));
}

async function severalTurns(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
}
