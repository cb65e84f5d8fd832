/** Returns an object with those of the named fields that are neither absent nor null. */
export function pickFields<T extends object, K extends keyof T>(from: T, names: readonly K[]): Partial<Pick<T, K>> {
  const picked: Partial<Pick<T, K>> = {};
  for (const name of names) if (from[name] !== undefined && from[name] !== null) picked[name] = from[name];
  return picked;
}
