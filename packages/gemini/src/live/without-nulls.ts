/** What a program says and not the service: a null in it is a value. */
const VALUES: ReadonlySet<string> = new Set(['args', 'response']);

/**
 * A message without its nulls: protobuf's JSON may write a field that is not set as null, and nobody after this has to know. In
 * lists they are left out as well. The message itself where it has none; what calls and responses hold is left as it is.
 */
export function withoutNulls<T extends object>(message: T): T {
  return hasNull(message) ? (stripped(message) as T) : message;
}

function hasNull(value: object): boolean {
  for (const key in value) {
    const inner: unknown = Reflect.get(value, key);
    if (inner === null || (isFields(key, inner) && hasNull(inner))) return true;
  }
  return false;
}

function stripped(value: object): object {
  const kept: [string, unknown][] = [];
  for (const [key, inner] of Object.entries(value) as [string, unknown][])
    if (inner !== null) kept.push([key, isFields(key, inner) ? withoutNulls(inner) : inner]);
  return Array.isArray(value) ? kept.map(([, inner]) => inner) : Object.fromEntries(kept);
}

function isFields(key: string, value: unknown): value is object {
  return typeof value === 'object' && value !== null && !VALUES.has(key);
}
