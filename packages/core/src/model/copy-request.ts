import { setOwn } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import type { LlmRequest } from './llm-request.ts';

/**
 * Copies a request so that callbacks may change it in place at any depth. The original shares its contents with the
 * session's events, and its config with the agent. Values that are neither arrays nor plain objects (tools, signals,
 * bytes) are not copied.
 */
export function copyRequest(request: LlmRequest): LlmRequest {
  return {
    ...request,
    contents: copyPlain(request.contents),
    config: copyPlain(request.config),
    toolsDict: Object.assign(Object.create(null) as LlmRequest['toolsDict'], request.toolsDict),
  };
}

/** Maximum nesting of a copied value. A value that contains itself exceeds it. */
const MAX_DEPTH = 500;

/** Copies arrays and plain objects at any depth; other values are shared. @throws ConfigurationError for a value that contains itself */
export function copyPlain<T>(value: T, depth = 0): T {
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH)
    throw new ConfigurationError(
      `a value in a request or a response of a model contains itself, or is nested deeper than ${MAX_DEPTH} levels; if it is a JSON Schema, write { $ref: '#' } where it repeats`,
    );
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) list.push(copyPlain<unknown>(item, depth + 1));
    return list as T;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const copied: Record<string, unknown> = {};
  for (const key in value) setOwn(copied, key, copyPlain<unknown>(value[key], depth + 1));
  return copied as T;
}
