import type { JsonValue } from '@eventloom/core';
import { isSameJson } from './same-json.ts';

/** What was added to a list that is not empty; undefined when something else changed. */
export function listAdditions(before: JsonValue | undefined, after: JsonValue): JsonValue[] | undefined {
  if (!Array.isArray(before) || !Array.isArray(after) || before.length === 0 || after.length < before.length)
    return undefined;
  return before.every((item, index) => isSameJson(item, after[index])) ? after.slice(before.length) : undefined;
}
