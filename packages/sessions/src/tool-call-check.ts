import { checkName, copyJson, InvalidRequestError, type ToolLedgerEntry } from '@eventloom/core';
import { isRecord } from './is-record.ts';

/** Some providers carry a signature in the id of a call. */
const MAX_CALL_ID_BYTES = 2048;

/** A copy of a tool call that can be stored. @throws InvalidRequestError */
export function checkToolCall(entry: ToolLedgerEntry): ToolLedgerEntry {
  const { invocationId, callId, name, status, response } = entry;
  checkName('invocationId', invocationId);
  checkName('callId', callId, MAX_CALL_ID_BYTES);
  checkName('name', name);
  if (status !== 'started' && status !== 'finished') {
    throw new InvalidRequestError(`status: must be started or finished, is ${JSON.stringify(status)}`);
  }
  if (response === undefined) return { invocationId, callId, name, status };
  if (!isRecord(response)) throw new InvalidRequestError('response: must be an object');
  const copied = copyJson(response);
  if ('fault' in copied) {
    const path = ['response', copied.fault.path].filter(Boolean).join('.');
    throw new InvalidRequestError(`${path}: ${copied.fault.reason}`);
  }
  return { invocationId, callId, name, status, response: copied.value as Readonly<Record<string, unknown>> };
}
