import {
  type Event,
  type ImportSessionRequest,
  InvalidRequestError,
  type SessionHeaderRecord,
  type SessionRecord,
  type StateWrite,
  type ToolLedgerEntry,
} from '@eventloom/core';
import {
  describeKind,
  checkName,
  checkStateDelta,
  checkStoredKeys,
  checkToolCall,
  inField,
  isRecord,
  nameFault,
  toStateWrites,
  toStoredEvent,
  SESSION_RECORD_VERSION,
} from '@eventloom/core/internal';
import type { SessionImport, StoredRun } from './session-driver.ts';

/** The fields of each type of record. Unknown fields are refused, because they would be lost. */
const FIELDS: Readonly<Record<SessionRecord['type'], readonly string[]>> = {
  session: ['type', 'version', 'appName', 'userId', 'id', 'lastUpdateTime', 'initialState', 'state'],
  event: ['type', 'event'],
  toolCall: ['type', 'toolCall'],
  end: ['type', 'events', 'toolCalls'],
};

/** The end of the year 9999, the latest timestamp of an event. */
const MAX_SECONDS = 253_402_300_799.999;

/**
 * Reads all records of an export and checks each of them.
 *
 * @throws InvalidRequestError that names the invalid record, by its number from 1, and the field
 */
export async function planImport(request: ImportSessionRequest, nowMs: number): Promise<SessionImport> {
  const read = new ImportReader();
  let number = 0;
  for await (const record of request.records) {
    number += 1;
    inField(`records[${number}]`, () => read.add(record));
  }
  return read.finish(request, number, nowMs);
}

class ImportReader {
  #header: SessionHeaderRecord | undefined;
  #initialState: readonly StateWrite[] = [];
  #state: readonly StateWrite[] = [];
  readonly #events: Event[] = [];
  readonly #eventIds = new Set<string>();
  readonly #toolCalls: ToolLedgerEntry[] = [];
  readonly #entryIds = new Set<string>();
  #isEnded = false;

  add(record: SessionRecord): void {
    if (!isRecord(record)) throw new InvalidRequestError(`expected an object, got ${describeKind(record)}`);
    if (this.#isEnded) throw new InvalidRequestError('comes after the end; remove it');
    if ((record.type === 'session') !== (this.#header === undefined)) {
      throw new InvalidRequestError('type: expected session in the first record and in no other');
    }
    checkFields(record);
    switch (record.type) {
      case 'session':
        return this.#begin(record);
      case 'event':
        return this.#addEvent(record.event);
      case 'toolCall':
        return this.#addToolCall(record.toolCall);
      case 'end':
        return this.#end(record.events, record.toolCalls);
      default:
        throw new InvalidRequestError(
          `type: expected session, event, toolCall or end, got ${JSON.stringify((record as { type: unknown }).type)}`,
        );
    }
  }

  finish({ appName, userId, sessionId }: ImportSessionRequest, count: number, nowMs: number): SessionImport {
    const header = this.#header;
    if (!header || !this.#isEnded) {
      throw new InvalidRequestError(`records: expected a last record of type end, got none after ${count} records`);
    }
    const key = {
      appName: appName ?? header.appName,
      userId: userId ?? header.userId,
      sessionId: sessionId ?? header.id,
    };
    return {
      ...key,
      // A clock that is ahead set the timestamp; leases and listings need times in the past.
      updatedAtMs: Math.min(toMilliseconds(header.lastUpdateTime), nowMs),
      initialState: this.#initialState,
      state: this.#state.filter(({ scope }) => scope === 'session'),
      sharedState: this.#state.filter(({ scope }) => scope !== 'session'),
      events: this.#events,
      toolCalls: this.#toolCalls,
      runs: runsOf(this.#events),
    };
  }

  #begin(header: SessionHeaderRecord): void {
    const { appName, userId, id, lastUpdateTime, initialState, state } = header;
    const version: unknown = header.version;
    if (version !== SESSION_RECORD_VERSION) {
      throw new InvalidRequestError(
        `version: is ${JSON.stringify(version)}, this program reads version ${SESSION_RECORD_VERSION}; update @eventloom/sessions`,
      );
    }
    checkName('appName', appName);
    checkName('userId', userId);
    checkName('id', id);
    if (!Number.isFinite(lastUpdateTime) || lastUpdateTime < 0 || lastUpdateTime > MAX_SECONDS) {
      throw new InvalidRequestError(
        `lastUpdateTime: expected a number of seconds since the epoch, got ${describeKind(lastUpdateTime)}`,
      );
    }
    this.#state = toWrites('state', state);
    this.#initialState = toWrites('initialState', initialState);
    const foreign = this.#initialState.find(({ scope }) => scope !== 'session');
    if (foreign)
      throw new InvalidRequestError(`initialState: ${JSON.stringify(foreign.key)} is not the session's own; remove it`);
    this.#header = header;
  }

  #addEvent(event: Event): void {
    if (this.#toolCalls.length > 0)
      throw new InvalidRequestError('an event comes after a tool call; write all events before the tool calls');
    const stored = toStoredEvent(event);
    if (this.#eventIds.has(stored.id)) {
      throw new InvalidRequestError(
        `event.id: ${JSON.stringify(stored.id)} is the id of an earlier event; remove one of them`,
      );
    }
    this.#eventIds.add(stored.id);
    this.#events.push(stored);
  }

  #addToolCall(toolCall: ToolLedgerEntry): void {
    if (!isRecord(toolCall))
      throw new InvalidRequestError(`toolCall: expected an object, got ${describeKind(toolCall)}`);
    const entry = checkToolCall(toolCall, 'toolCall.');
    const id = `${entry.invocationId}\0${entry.entryId}`;
    if (this.#entryIds.has(id))
      throw new InvalidRequestError('toolCall: repeats an earlier record of the same call; remove one of them');
    this.#entryIds.add(id);
    this.#toolCalls.push(entry);
  }

  #end(events: number, toolCalls: number): void {
    if (events !== this.#events.length || toolCalls !== this.#toolCalls.length) {
      throw new InvalidRequestError(
        `expected the counts of ${this.#events.length} events and ${this.#toolCalls.length} tool calls, got ${events} and ${toolCalls}`,
      );
    }
    this.#isEnded = true;
  }
}

function checkFields(record: SessionRecord): void {
  const known: readonly string[] = Object.hasOwn(FIELDS, record.type) ? FIELDS[record.type] : Object.keys(record);
  const unknown = Object.keys(record).find((field) => !known.includes(field));
  if (unknown !== undefined) {
    throw new InvalidRequestError(
      `${unknown}: is an unknown field; a record of type ${record.type} has ${known.join(', ')}`,
    );
  }
}

/** Returns the runs and requests that events name. Invalid ids are omitted. */
function runsOf(events: readonly Event[]): StoredRun[] {
  const runs = new Map<string, StoredRun>();
  const requests = new Map<string, string>();
  for (const [index, { invocationId, requestId = invocationId }] of events.entries()) {
    if (!runs.has(invocationId)) runs.set(invocationId, { id: invocationId, invocationId, firstSeq: index + 1 });
    if (!requests.has(requestId)) requests.set(requestId, invocationId);
  }
  for (const [id, invocationId] of requests) {
    const run = runs.get(invocationId);
    if (run && !runs.has(id)) runs.set(id, { ...run, id });
  }
  return [...runs.values()].filter(({ id, invocationId }) => !nameFault(id) && !nameFault(invocationId));
}

/** Rounds to a microsecond, so that dividing by 1,000 returns the exported time. */
function toMilliseconds(seconds: number): number {
  return Math.round(seconds * 1e6) / 1000;
}

function toWrites(field: string, state: Readonly<Record<string, unknown>>): StateWrite[] {
  if (!isRecord(state)) throw new InvalidRequestError(`${field}: expected an object, got ${describeKind(state)}`);
  checkStoredKeys(field, Object.keys(state));
  return inField(field, () => toStateWrites(checkStateDelta(state)));
}
