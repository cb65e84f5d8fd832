import { type LlmRequest, setOwn } from '@eventloom/core';

/**
 * A request that callbacks may change in place at any depth: its contents are those of the session's events, and much of its
 * config and its tools are the agent's own. What is neither a list nor a plain object (a tool, a signal, bytes) is shared.
 */
export function copyRequest(request: LlmRequest): LlmRequest {
  return {
    ...request,
    contents: copyPlain(request.contents),
    config: copyPlain(request.config),
    toolsDict: Object.assign(Object.create(null) as LlmRequest['toolsDict'], request.toolsDict),
  };
}

/** A copy at any depth of lists and plain objects. */
export function copyPlain<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyPlain) as T;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copied: Record<string, unknown> = {};
  for (const key in value) setOwn(copied, key, copyPlain<unknown>(value[key]));
  return copied as T;
}
