/** What a program says and not the service: a null in it is a value. */
const VALUES: ReadonlySet<string> = new Set(['args', 'response']);

/**
 * A message without its nulls: protobuf's JSON may write a field that is not set as null, and nobody after this has to know. In
 * lists they are left out as well. The message itself where it has none; what calls and responses hold is left as it is.
 */
export function withoutNulls<T extends object>(message: T): T {
  return (stripped(message) as T | undefined) ?? message;
}

/** A copy without nulls; undefined when there are none. */
function stripped(value: object): object | undefined {
  const copies = new Map<string, unknown>();
  let isChanged = false;
  for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
    if (inner === null) {
      isChanged = true;
      continue;
    }
    const copy = typeof inner === 'object' && !VALUES.has(key) ? stripped(inner) : undefined;
    if (copy) isChanged = true;
    copies.set(key, copy ?? inner);
  }
  if (!isChanged) return undefined;
  return Array.isArray(value) ? [...copies.values()] : Object.fromEntries(copies);
}
