/** Maximum length of a tool's name in characters, as in the ADK. */
const MAX_NAME = 60;
/** Maximum length of a tool's name for models in characters, including the prefix of its toolset. */
const MAX_PREFIXED_NAME = 64;

/** Converts a name to snake case, as the ADK does: `getPetById` and `get-pet-by-ID` become `get_pet_by_id`. */
function toSnakeCase(name: string): string {
  return name
    .replaceAll(/[^a-zA-Z0-9]+/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replace(/^_/, '')
    .replace(/_$/, '');
}

/**
 * Returns an unused name, and reserves it. It has at most 60 characters, and with the prefix at most 64. If the name is
 * used already, because two ids differ only in removed or replaced characters, a number is added.
 */
export function takeToolName(text: string, prefix: string, taken: Set<string>): string {
  const start = prefix === '' ? '' : `${prefix}_`;
  const length = Math.max(8, Math.min(MAX_NAME, MAX_PREFIXED_NAME - start.length));
  const whole = toSnakeCase(text) || 'operation';
  const name = /^\d/.test(whole) && start === '' ? `_${whole}` : whole;
  for (let count = 1; ; count++) {
    const suffix = count === 1 ? '' : `_${count}`;
    const candidate = `${start}${name.slice(0, length - suffix.length)}${suffix}`;
    if (taken.has(candidate)) continue;
    taken.add(candidate);
    return candidate;
  }
}

/** Returns an unused name for an argument, with the characters that models accept. */
export function takeArgumentName(name: string, place: string, taken: ReadonlySet<string>): string {
  const plain = name.replaceAll(/[^\w.-]+/g, '_').slice(0, 60) || place;
  if (!taken.has(plain)) return plain;
  const placed = `${plain.slice(0, 50)}_${place}`;
  for (let count = 1; ; count++) {
    const candidate = count === 1 ? placed : `${placed}_${count}`;
    if (!taken.has(candidate)) return candidate;
  }
}
