import { InvalidRequestError, type SessionRecord } from '@eventloom/core';
import { exportAll } from '../records.ts';
import { brokenDriver, brokenService, type Mutant } from './mutant.ts';

/** Each is where sessions go to. */
export const transferMutants: readonly Mutant[] = [
  brokenDriver('transfer.lossless', 'keeps whole seconds', (driver) => ({
    importSession: (session) =>
      driver.importSession({ ...session, updatedAtMs: Math.floor(session.updatedAtMs / 1000) * 1000 }),
  })),
  brokenDriver('transfer.lossless', 'loses the tool calls', (driver) => ({
    importSession: (session) => driver.importSession({ ...session, toolCalls: [] }),
  })),
  brokenDriver('transfer.there-and-back', 'loses the initial state', (driver) => ({
    importSession: (session) => driver.importSession({ ...session, initialState: [] }),
  })),
  brokenService('transfer.there-and-back', 'gives calls without their responses', (service) => ({
    async *exportSession(key) {
      for (const record of await exportAll(service, key)) yield withoutResponse(record);
    },
  })),
  brokenService('transfer.as-lines', 'takes only objects that an export made', (service) => ({
    async importSession(request) {
      const records: SessionRecord[] = [];
      for await (const record of request.records) records.push(record);
      const [header] = records;
      if (header?.type !== 'session' || Object.getPrototypeOf(header.state) !== null) {
        throw new InvalidRequestError('that is no export');
      }
      return service.importSession({ ...request, records });
    },
  })),
  brokenDriver('transfer.same-windows', 'overlooks compactions that it imported', (driver) => ({
    readSession: (key, window) => driver.readSession(key, { ...window, sinceCompaction: false }),
  })),
  brokenDriver('transfer.large', 'imports a thousand events', (driver) => ({
    importSession: (session) => driver.importSession({ ...session, events: session.events.slice(0, 1000) }),
  })),
  brokenDriver('transfer.large', 'leaves out what is large', (driver) => ({
    importSession: (session) =>
      driver.importSession({
        ...session,
        sharedState: session.sharedState.filter(({ value }) => String(value).length < 100_000),
      }),
  })),
];

function withoutResponse(record: SessionRecord): SessionRecord {
  if (record.type !== 'toolCall') return record;
  const { response: _, ...toolCall } = record.toolCall;
  return { ...record, toolCall };
}
