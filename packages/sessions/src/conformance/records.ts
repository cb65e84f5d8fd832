import {
  type BaseSessionService,
  type Event,
  type SessionHeaderRecord,
  type SessionKey,
  type SessionRecord,
  type ToolLedgerEntry,
} from '@eventloom/core';
import type { Subject } from './session-rule.ts';
import { sampleEvent } from './samples.ts';

/** Everything that an export gives. */
export async function exportAll(service: BaseSessionService, key: SessionKey): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const record of service.exportSession(key)) records.push(record);
  return records;
}

/** The first record of an export. */
export async function headerOf({ service, expect }: Subject, key: SessionKey): Promise<SessionHeaderRecord> {
  const [header] = await exportAll(service, key);
  return expect.present('the header', header?.type === 'session' ? header : undefined);
}

/** The records of a session, as an export gives them. */
export function recordsOf(
  header: Partial<SessionHeaderRecord>,
  events: readonly Event[] = [],
  toolCalls: readonly ToolLedgerEntry[] = [],
): SessionRecord[] {
  return [
    {
      type: 'session',
      version: 1,
      appName: 'app',
      userId: 'user',
      id: 'session',
      lastUpdateTime: 1_767_323_045.25,
      initialState: {},
      state: {},
      ...header,
    },
    ...events.map((event): SessionRecord => ({ type: 'event', event })),
    ...toolCalls.map((toolCall): SessionRecord => ({ type: 'toolCall', toolCall })),
    { type: 'end', events: events.length, toolCalls: toolCalls.length },
  ];
}

/** Makes a session with so many events, named 1, 2, 3 and so on, in one call. */
export async function importEvents({ service }: Subject, key: SessionKey, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) => sampleEvent(String(index + 1)));
  await service.importSession({ records: recordsOf({}, events), ...key });
}

/**
 * Records for comparing: in what order the calls of different invocations come is the back end's own, so they are put in the order
 * of their invocations' ids.
 */
export function comparable(records: readonly SessionRecord[]): SessionRecord[] {
  const invocationOf = (record: SessionRecord): string =>
    record.type === 'toolCall' ? record.toolCall.invocationId : '';
  const calls = records.filter(({ type }) => type === 'toolCall');
  const sorted = calls.toSorted((one, other) => compareText(invocationOf(one), invocationOf(other)));
  return records.map((record) => (record.type === 'toolCall' ? (sorted.shift() ?? record) : record));
}

function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
