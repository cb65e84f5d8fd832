/** True when two JSON values say the same. The order of keys does not count. */
export function jsonEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && jsonEqual(member(one, key), member(other, key)))
  );
}

function member(value: object, key: string): unknown {
  return (value as Record<string, unknown>)[key];
}
