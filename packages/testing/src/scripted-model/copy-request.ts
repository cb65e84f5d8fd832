import type { LlmRequest } from '@eventloom/core';
import { setOwn } from '@eventloom/core/internal';

/**
 * Returns a copy that later changes to the request do not affect: lists and plain objects are copied; all else (tools,
 * signals) is shared.
 */
export function copyRequest(request: LlmRequest): LlmRequest {
  return {
    ...request,
    contents: copy(request.contents),
    config: copy(request.config),
    toolsDict: { ...request.toolsDict },
  };
}

function copy<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copy) as T;
  if (typeof value !== 'object' || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copied: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) setOwn(copied, key, copy<unknown>(item));
  return copied as T;
}
