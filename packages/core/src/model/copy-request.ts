import { setOwn } from '../content/json.ts';
import type { LlmRequest } from './llm-request.ts';

/**
 * Copies a request so that callbacks may change it in place at any depth. The original shares its contents with the session's events, and its
 * config with the agent. Values that are neither arrays nor plain objects (tools, signals, bytes) are not copied.
 */
export function copyRequest(request: LlmRequest): LlmRequest {
  return {
    ...request,
    contents: copyPlain(request.contents),
    config: copyPlain(request.config),
    toolsDict: Object.assign(Object.create(null) as LlmRequest['toolsDict'], request.toolsDict),
  };
}

/** Copies arrays and plain objects at any depth; other values are shared. */
export function copyPlain<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyPlain) as T;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copied: Record<string, unknown> = {};
  for (const key in value) setOwn(copied, key, copyPlain<unknown>(value[key]));
  return copied as T;
}
