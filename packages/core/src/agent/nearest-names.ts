/** Returns a valid name of an agent or a tool that resembles a given value, for error messages: `my_agent` for `my agent`. */
export function toValidName(given: unknown): string {
  const text = typeof given === 'string' ? given.slice(0, 40) : '';
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words.join('_');
  return name === '' ? 'helper' : /^[0-9]/.test(name) ? `_${name}` : name;
}

/**
 * Suggests names for a misspelt one, best first: the same name in another notation (`sub_agents`); else the name that
 * differs by the fewest characters, if they are few; else at most three names that contain the typed one from the beginning of a
 * word on (`newMessage` for `message`), or that it contains. Empty if no name is close.
 */
export function nearestNames(typed: string, names: readonly string[]): readonly string[] {
  const similar = similarName(typed, names);
  if (similar !== undefined) return [similar];
  const isPart = (part: string, whole: string): boolean =>
    toPlain(part).length > 2 && tailsOf(whole).some((tail) => tail.startsWith(toPlain(part)));
  return names.filter((name) => isPart(typed, name) || isPart(name, typed)).slice(0, 3);
}

/**
 * Returns the same name in another notation (`sub_agents`), else the name that differs by the fewest characters, if they are few;
 * undefined if no name is so close.
 */
export function similarName(typed: string, names: readonly string[]): string | undefined {
  const plain = toPlain(typed);
  const same = names.find((name) => toPlain(name) === plain);
  if (same !== undefined) return same;
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(plain, toPlain(name)) }))
    .toSorted((one, other) => one.distance - other.distance);
  return nearest && nearest.distance <= Math.max(1, Math.floor(plain.length / 3)) ? nearest.name : undefined;
}

/** Returns a name from each of its words on, in plain notation: `onopenrun`, `openrun`, `run` for `onOpenRun`. */
function tailsOf(name: string): string[] {
  const starts = Array.from(name.matchAll(/^.|[A-Z](?=[a-z])|(?<=[_-])./g), ({ index }) => index);
  return starts.map((start) => toPlain(name.slice(start)));
}

/** Returns the first name that a typed one is a misspelling of, as `isMisspelt` says. */
export function misspeltName(typed: string, names: readonly string[]): string | undefined {
  return names.find((name) => isMisspelt(typed, name));
}

/**
 * True if a name of four or more characters differs from one in camel case by at most one character, two exchanged ones, or its notation.
 * Allocates nothing for most names, because agents are also created for each request.
 */
export function isMisspelt(typed: string, name: string): boolean {
  const from = withoutSeparators(typed);
  const { length } = from;
  if (length < 4 || Math.abs(length - name.length) > 1) return false;
  let start = 0;
  while (start < length && isSameLetter(from, start, name, start)) start++;
  let end = length;
  let nameEnd = name.length;
  for (; end > start && nameEnd > start && isSameLetter(from, end - 1, name, nameEnd - 1); end--) nameEnd--;
  if (end - start <= 1 && nameEnd - start <= 1) return true;
  const isPair = end - start === 2 && nameEnd - start === 2;
  return isPair && isSameLetter(from, start, name, start + 1) && isSameLetter(from, start + 1, name, start);
}

/** True for the same letter in upper or lower case. */
function isSameLetter(one: string, at: number, other: string, otherAt: number): boolean {
  return (one.charCodeAt(at) | 32) === (other.charCodeAt(otherAt) | 32);
}

function withoutSeparators(name: string): string {
  // Most names have none, and `replaceAll` takes several times as long to find that.
  if (!name.includes('_') && !name.includes('-')) return name;
  return name.replaceAll('_', '').replaceAll('-', '');
}

function toPlain(name: string): string {
  // Longer texts are not misspelt names, and a comparison of them would take long.
  return withoutSeparators(name.slice(0, 64).toLowerCase());
}

/** Returns the number of single-character edits (insert, remove, replace, swap of neighbours) between two texts. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  let before: number[] = [];
  for (let index = 0; index < from.length; index++) {
    const next = [index + 1];
    for (let column = 0; column < to.length; column++) {
      const replaced = (row[column] ?? 0) + (from[index] === to[column] ? 0 : 1);
      const isExchanged = index > 0 && column > 0 && from[index] === to[column - 1] && from[index - 1] === to[column];
      const exchanged = isExchanged ? (before[column - 1] ?? 0) + 1 : Infinity;
      next.push(Math.min(replaced, exchanged, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row.at(-1) ?? 0;
}
