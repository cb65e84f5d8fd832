import { setOwn } from '@eventloom/core';
import type { StateEntry } from './session-driver.ts';

/** The state of one scope in memory. Values are copied in and out. */
export class StateTable {
  /** Absent until the first write: most sessions have no state in most scopes. */
  #values: Map<string, unknown> | undefined;

  get isEmpty(): boolean {
    return this.#values === undefined || this.#values.size === 0;
  }

  has(key: string): boolean {
    return this.#values?.has(key) === true;
  }

  clear(): void {
    this.#values = undefined;
  }

  set(key: string, value: unknown): void {
    (this.#values ??= new Map()).set(key, copyStored(value));
  }

  remove(key: string): void {
    this.#values?.delete(key);
  }

  readInto(entries: StateEntry[], scope: StateEntry['scope']): void {
    if (this.#values) for (const [key, value] of this.#values) entries.push({ scope, key, value: copyStored(value) });
  }
}

/** A copy of a value that is known to be JSON. */
function copyStored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyStored);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) setOwn(copy, key, copyStored(item));
  return copy;
}
