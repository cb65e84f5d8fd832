/** Texts in JSON, which may contain digits, and numbers. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Returns why a value in JSON cannot be stored as it is written; undefined if it can. */
export function refusalOf(key: string, json: string): string | undefined {
  if (key.startsWith('temp:'))
    return 'A key with temp: lives only as long as a run, so nothing would be stored. Write the key without temp:.';
  const changed = json.match(TEXT_OR_NUMBER)?.find((each) => !each.startsWith('"') && !isKept(each));
  if (changed === undefined) return undefined;
  const what = Number.isFinite(Number(changed)) ? `would be stored as ${Number(changed)}` : 'is too large to be stored';
  return `The number ${changed} ${what}. Put it into quotes to keep its digits.`;
}

/** True if a number is stored as it is written. Fractions may lose digits. */
function isKept(written: string): boolean {
  const value = Number(written);
  return Number.isFinite(value) && (!/^-?\d+$/.test(written) || BigInt(written) === BigInt(value));
}
