import type { FunctionCall, FunctionResponsePart } from '../content/content.ts';
import type { EventActions } from '../event/event-actions.ts';
import { sealJson } from '../content/copy-json.ts';
import { describeKind, isRecord, type JsonValue } from '../content/json.ts';
import { InvalidRequestError } from '../errors.ts';
import { createEvent } from '../event/create-event.ts';
import { sealEvent } from '../event/seal-event.ts';
import { checkName } from './check-name.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { checkStoredActions, inField } from './stored-checks.ts';

/**
 * The record of one tool call, written under the session's lease before the tool starts and again when it ends. A `finished`
 * call is never run again, even if the process was lost afterwards. A call that waited for a person continues in the
 * invocation that contains the answer, and has a second record there.
 */
export interface ToolLedgerEntry {
  readonly invocationId: string;
  /** Identifies the entry within the invocation. Not the id of the function call, which models repeat: see `ledgerEntryId`. */
  readonly entryId: string;
  readonly name: string;
  readonly status: 'started' | 'finished';
  /** The response of the tool, once finished; JSON. Absent for a long-running tool without a response yet. */
  readonly response?: Readonly<Record<string, unknown>>;
  /** Media of the response. Absent if there are none or there is no response. */
  readonly parts?: readonly FunctionResponsePart[];
  /** Changes and signals of the call, without `temp:` state; JSON. Absent if there are none. */
  readonly actions?: Readonly<Partial<EventActions>>;
}

/** The record of the tool calls of a session, for the run that holds its lease. */
export interface ToolLedger {
  recordToolCall(entry: ToolLedgerEntry): MaybePromise<void>;
  /** Returns the entries of an invocation of the session. */
  listToolCalls(invocationId: string): MaybePromise<readonly ToolLedgerEntry[]>;
  /**
   * Checks that the run still has its session. Asks the storage only if the lease may have expired, which happens when the process is
   * stopped for a while.
   * @throws StaleWriterError if another writer has the session
   */
  checkLease(): MaybePromise<void>;
}

/**
 * Returns the id of a call's entry in the ledger: the id of the event that started the call, a slash, and the id of the function call.
 * Models may give several calls of a run the same id; event ids are unique.
 *
 * @param eventId the event that made the call; for a call that waited for a person, the event of the answer
 */
export function ledgerEntryId(eventId: string, { id = '' }: FunctionCall): string {
  return `${eventId}/${id}`;
}

/** Limit of an entry id: an event id and a call id together. Some model providers put a signature into the call id. */
const MAX_ENTRY_ID_BYTES = 2304;

/**
 * Checks a ledger entry and returns a copy that can be stored. A response that is sealed already is not copied.
 * @param path prefix of the field names in error messages
 * @param known an entry that was checked before: names that are the same are not checked again
 * @throws InvalidRequestError that names the field
 */
export function checkToolCall(entry: ToolLedgerEntry, path = '', known?: ToolLedgerEntry): ToolLedgerEntry {
  const { invocationId, entryId, name, status, response, parts, actions } = entry;
  if (!known || invocationId !== known.invocationId) checkName(`${path}invocationId`, invocationId);
  // The id of another call is not compared: it is a sum of texts, which would be copied for it.
  if (!known || status === 'started' || entryId !== known.entryId)
    checkName(`${path}entryId`, entryId, MAX_ENTRY_ID_BYTES);
  if (!known || name !== known.name) checkName(`${path}name`, name);
  if (status !== 'started' && status !== 'finished') {
    throw new InvalidRequestError(`${path}status: expected started or finished, got ${JSON.stringify(status)}`);
  }
  const checked: { -readonly [K in keyof ToolLedgerEntry]: ToolLedgerEntry[K] } = {
    invocationId,
    entryId,
    name,
    status,
  };
  if (response !== undefined) checked.response = toRecord(`${path}response`, response);
  if (parts !== undefined) {
    if (response === undefined) throw new InvalidRequestError(`${path}parts: need a response, which is missing`);
    checked.parts = toParts(`${path}parts`, parts);
  }
  if (actions !== undefined) checked.actions = toActions(`${path}actions`, actions);
  return checked;
}

/** Checks the actions like those of an event, because they become an event's actions when the run is resumed. */
function toActions(path: string, value: unknown): Partial<EventActions> {
  const actions = toRecord(path, value);
  const event = inField(path, () => sealEvent(createEvent({ actions })));
  checkStoredActions(path, event.actions);
  return actions;
}

function toParts(field: string, value: readonly unknown[]): readonly FunctionResponsePart[] {
  if (!Array.isArray(value) || !value.every(isRecord))
    throw new InvalidRequestError(`${field}: expected a list of objects`);
  return toSealed(field, value) as readonly FunctionResponsePart[];
}

function toRecord(field: string, value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw new InvalidRequestError(`${field}: expected an object, got ${describeKind(value)}`);
  return toSealed(field, value) as Record<string, unknown>;
}

function toSealed(field: string, value: object): JsonValue {
  const copied = sealJson(value);
  if ('value' in copied) return copied.value;
  const path = [field, copied.fault.path].filter(Boolean).join('.');
  throw new InvalidRequestError(`${path}: ${copied.fault.reason}`);
}
