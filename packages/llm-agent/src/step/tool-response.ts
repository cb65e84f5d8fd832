import { copyJson, isRecord } from '@eventloom/core';
import { sealJson } from '@eventloom/core/internal';

/**
 * A tool's result as the object that a function response holds: an object as it is, anything else under `result`.
 * @param isFinal seals it, so that the tool ledger and the event share it; false where callbacks may still change it in place
 */
export function toToolResponse(toolName: string, result: unknown, isFinal = false): Record<string, unknown> {
  if (result === undefined) return { result: null };
  const copied = isFinal ? sealJson(result, { toJson: true }) : copyJson(result, { toJson: true });
  if ('fault' in copied) {
    const { path, reason } = copied.fault;
    return {
      error: `tool ${toolName} returned something that is not JSON: the result${path === '' ? '' : ` at ${path}`} ${reason}`,
    };
  }
  const { value } = copied;
  return isRecord(value) ? value : { result: value };
}
