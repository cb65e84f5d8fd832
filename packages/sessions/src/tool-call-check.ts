import { checkName, copyJson, InvalidRequestError, type ToolLedgerEntry } from '@eventloom/core';
import { isRecord } from './is-record.ts';

/** The id of an event and the id of a call, and some providers carry a signature in the latter. */
const MAX_CALL_ID_BYTES = 2304;

/** A copy of a tool call that can be stored. @throws InvalidRequestError */
export function checkToolCall(entry: ToolLedgerEntry): ToolLedgerEntry {
  const { invocationId, callId, name, status, response, actions } = entry;
  checkName('invocationId', invocationId);
  checkName('callId', callId, MAX_CALL_ID_BYTES);
  checkName('name', name);
  if (status !== 'started' && status !== 'finished') {
    throw new InvalidRequestError(`status: must be started or finished, is ${JSON.stringify(status)}`);
  }
  return {
    invocationId,
    callId,
    name,
    status,
    ...(response === undefined ? {} : { response: toRecord('response', response) }),
    ...(actions === undefined ? {} : { actions: toRecord('actions', actions) }),
  };
}

function toRecord(field: string, value: unknown): Record<string, unknown> {
  if (!isRecord(value)) throw new InvalidRequestError(`${field}: must be an object`);
  const copied = copyJson(value);
  if ('value' in copied) return copied.value as Record<string, unknown>;
  const path = [field, copied.fault.path].filter(Boolean).join('.');
  throw new InvalidRequestError(`${path}: ${copied.fault.reason}`);
}
