/** One, several or none, as a list of its own. */
export function toList<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return EMPTY;
  return Array.isArray(value) ? [...(value as readonly T[])] : [value as T];
}

const EMPTY: readonly never[] = [];
