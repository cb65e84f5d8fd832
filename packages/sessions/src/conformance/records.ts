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

/** Returns all records of an export. */
export async function exportAll(service: BaseSessionService, key: SessionKey): Promise<SessionRecord[]> {
  const records: SessionRecord[] = [];
  for await (const record of service.exportSession(key)) records.push(record);
  return records;
}

/** Returns the first record of an export. */
export async function headerOf({ service, expect }: Subject, key: SessionKey): Promise<SessionHeaderRecord> {
  const [header] = await exportAll(service, key);
  return expect.present('the header', header?.type === 'session' ? header : undefined);
}

/** Returns the records of a session in the form of an export. */
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

/** Creates a session with this number of events, with the ids 1, 2, 3 and so on, in one call. */
export async function importEvents({ service }: Subject, key: SessionKey, count: number): Promise<void> {
  const events = Array.from({ length: count }, (_, index) => sampleEvent(String(index + 1)));
  await service.importSession({ records: recordsOf({}, events), ...key });
}

/**
 * Returns records in a form that can be compared: tool calls are sorted by invocation id, because the back end decides on the order of
 * invocations.
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
