import { copyJson, isRecord } from '@eventloom/core';

/** A tool's result as the object that a function response holds: an object as it is, anything else under `result`. */
export function toToolResponse(toolName: string, result: unknown): Record<string, unknown> {
  if (result === undefined) return { result: null };
  const copied = copyJson(result, { toJson: true });
  if ('fault' in copied) {
    const { path, reason } = copied.fault;
    return {
      error: `tool ${toolName} returned something that is not JSON: the result${path === '' ? '' : ` at ${path}`} ${reason}`,
    };
  }
  const { value } = copied;
  return isRecord(value) ? value : { result: value };
}
