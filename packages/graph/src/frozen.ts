import type { JsonValue } from '@eventloom/core';

/** The value itself, made unchangeable throughout: nodes share what they read and are given. */
export function frozen<T extends JsonValue>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const item of Object.values(value)) frozen(item);
    Object.freeze(value);
  }
  return value;
}
