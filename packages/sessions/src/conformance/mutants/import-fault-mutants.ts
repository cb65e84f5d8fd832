import {
  type BaseSessionService,
  type Event,
  type ImportSessionRequest,
  InvalidRequestError,
  type SessionRecord,
} from '@eventloom/core';
import { isRecord, stateScopeOf } from '@eventloom/core/internal';
import { brokenService, type SessionMutant } from './mutant.ts';

export const importFaultMutants: readonly SessionMutant[] = [
  mends('import.truncated-refused', 'accepts records without an end', (records) =>
    endOf(records) ? records : withEnd(records),
  ),
  brokenService('import.truncated-refused', 'stores records before it checks the end', (service) => ({
    async importSession(request) {
      const [header] = await collect(request);
      if (header?.type === 'session') await service.createSession({ ...header, sessionId: 'ghost' });
      return service.importSession(request);
    },
  })),
  mends('import.order-refused', 'sorts records', (records) => {
    const order = ['session', 'event', 'toolCall', 'end'];
    return records.toSorted((one, other) => order.indexOf(one.type) - order.indexOf(other.type));
  }),
  mends('import.order-refused', 'keeps the first of two events with the same id', (records) => {
    const seen = new Set<string>();
    const kept = records.filter(
      (record) => record.type !== 'event' || (!seen.has(record.event.id) && seen.add(record.event.id)),
    );
    return kept.length < records.length ? withEnd(kept.filter(({ type }) => type !== 'end')) : records;
  }),
  mends('import.order-refused', 'ignores records after the end', (records) => {
    const end = records.findIndex(({ type }) => type === 'end');
    return end < 0 ? records : records.slice(0, end + 1);
  }),
  mends('import.counts-refused', 'does not check counts', (records) =>
    endOf(records) ? withEnd(records.filter(({ type }) => type !== 'end')) : records,
  ),
  mends('import.bad-header-refused', 'accepts any version', ([header, ...records]) =>
    header?.type === 'session' ? [{ ...header, version: 1 }, ...records] : records,
  ),
  mends('import.bad-header-refused', 'drops temp: keys', ([header, ...records]) => {
    if (header?.type !== 'session' || !isRecord(header.state)) return header ? [header, ...records] : records;
    const state = Object.entries(header.state).filter(([key]) => stateScopeOf(key) !== 'temp');
    return [{ ...header, state: Object.fromEntries(state) }, ...records];
  }),
  mends('import.bad-records-refused', 'fills in missing fields of an event', (records, makeUp) =>
    records.map((record) => {
      if (record?.type !== 'event' || typeof record.event !== 'object') return record;
      const { id = makeUp(), author } = record.event as Partial<Event>;
      return { ...record, event: { ...record.event, id, author: author ?? 'somebody' } };
    }),
  ),
  mends('import.bad-records-refused', 'skips unknown records', (records) =>
    records.filter((record) => ['session', 'event', 'toolCall', 'end'].includes(record?.type)),
  ),
  mends('import.bad-records-refused', 'drops unknown fields of records', (records) =>
    records.map((record) => {
      if (record?.type !== 'event') return record;
      return { type: record.type, event: record.event };
    }),
  ),
  brokenService('import.source-error', 'stores the records before an error', (service) => ({
    importSession: async (request) => service.importSession({ ...request, records: withEnd(await collect(request)) }),
  })),
  brokenService('import.source-error', 'replaces the error of the records', (service) => ({
    importSession: (request) =>
      service.importSession(request).catch((cause: unknown) => {
        throw InvalidRequestError.isInstance(cause) ? cause : new InvalidRequestError('bad records', { cause });
      }),
  })),
];

/** Creates a mutant that repairs invalid records instead of refusing them. */
function mends(
  breaks: string,
  how: string,
  change: (records: readonly SessionRecord[], makeUp: () => string) => readonly SessionRecord[],
): SessionMutant {
  return brokenService(breaks, how, (service: BaseSessionService, _, platform) => ({
    async importSession(request) {
      const records = change(await collect(request), () => platform.newEventId());
      return service.importSession({ ...request, records });
    },
  }));
}

/** Returns the records up to the first error of their source. */
async function collect({ records }: ImportSessionRequest): Promise<SessionRecord[]> {
  const collected: SessionRecord[] = [];
  try {
    for await (const record of records) collected.push(record);
  } catch {
    return collected;
  }
  return collected;
}

function endOf(records: readonly SessionRecord[]): SessionRecord | undefined {
  return records.find((record) => record?.type === 'end');
}

function withEnd(records: readonly SessionRecord[]): SessionRecord[] {
  const count = (type: string): number => records.filter((record) => record?.type === type).length;
  return [...records, { type: 'end', events: count('event'), toolCalls: count('toolCall') }];
}
