import { InvalidRequestError, type SessionRecord } from '@eventloom/core';
import { exportAll } from '../records.ts';
import { brokenDriver, brokenService, type SessionMutant } from './mutant.ts';

/** Services that are wrong as the target of a transfer. */
export const transferMutants: readonly SessionMutant[] = [
  brokenDriver('transfer.lossless', 'rounds times to seconds', (driver) => ({
    importSession: (session) =>
      driver.importSession({ ...session, updatedAtMs: Math.floor(session.updatedAtMs / 1000) * 1000 }),
  })),
  brokenDriver('transfer.lossless', 'drops the tool calls', (driver) => ({
    importSession: (session) => driver.importSession({ ...session, toolCalls: [] }),
  })),
  brokenDriver('transfer.there-and-back', 'drops the initial state', (driver) => ({
    importSession: (session) => driver.importSession({ ...session, initialState: [] }),
  })),
  brokenService('transfer.there-and-back', 'imports calls without their responses', (service) => ({
    async *exportSession(key) {
      for (const record of await exportAll(service, key)) yield withoutResponse(record);
    },
  })),
  brokenService('transfer.as-lines', 'accepts only objects created by an export', (service) => ({
    async importSession(request) {
      const records: SessionRecord[] = [];
      for await (const record of request.records) records.push(record);
      const [header] = records;
      if (header?.type !== 'session' || Object.getPrototypeOf(header.state) !== null) {
        throw new InvalidRequestError('the records are not from an export');
      }
      return service.importSession({ ...request, records });
    },
  })),
  brokenDriver('transfer.same-windows', 'ignores imported compactions', (driver) => ({
    readSession: (key, window) => driver.readSession(key, { ...window, sinceCompaction: false }),
  })),
  brokenDriver('transfer.large', 'imports only 1,000 events', (driver) => ({
    importSession: (session) => driver.importSession({ ...session, events: session.events.slice(0, 1000) }),
  })),
  brokenDriver('transfer.large', 'drops large values', (driver) => ({
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
