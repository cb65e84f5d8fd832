import { copyJson, type FunctionResponsePart, isRecord, isToolResult } from '@eventloom/core';
import { sealJson } from '@eventloom/core/internal';

/** A tool's result in the form of a function response. */
export interface ToolResponse {
  readonly response: Record<string, unknown>;
  readonly parts?: readonly FunctionResponsePart[] | undefined;
}

/**
 * Returns a tool's result in the form of a function response: an object as it is, anything else under `result`, and the media of a
 * `toolResult` as parts.
 * @param isFinal seals it, so that the tool ledger and the event share it; false where callbacks may still change it in place
 */
export function toToolResponse(toolName: string, result: unknown, isFinal = false): ToolResponse {
  if (isToolResult(result)) {
    const { response, isFault } = toResponse(toolName, result.response, isFinal);
    return isFault || result.parts.length === 0 ? { response } : { response, parts: result.parts };
  }
  return { response: toResponse(toolName, result, isFinal).response };
}

function toResponse(
  toolName: string,
  result: unknown,
  isFinal: boolean,
): { readonly response: Record<string, unknown>; readonly isFault?: boolean } {
  if (result === undefined) return { response: { result: null } };
  const copied = isFinal ? sealJson(result, { toJson: true }) : copyJson(result, { toJson: true });
  if ('fault' in copied) {
    const { path, reason } = copied.fault;
    const error = `tool ${toolName} returned something that is not JSON: the result${path === '' ? '' : ` at ${path}`} ${reason}`;
    return { response: { error }, isFault: true };
  }
  const { value } = copied;
  return { response: isRecord(value) ? value : { result: value } };
}
