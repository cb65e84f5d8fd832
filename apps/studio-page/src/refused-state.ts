/** Texts in JSON, which may contain digits, and numbers. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Returns why a value in JSON cannot be stored as it is written; undefined if it can. */
export function refusalOf(key: string, json: string): string | undefined {
  if (key.startsWith('temp:'))
    return 'A key with temp: lives only as long as a run, so nothing would be stored. Write the key without temp:.';
  const inexact = json
    .match(TEXT_OR_NUMBER)
    ?.find((each) => /^-?\d+$/.test(each) && BigInt(each) !== BigInt(Number(each)));
  if (inexact === undefined) return undefined;
  return `The number ${inexact} would be stored as ${Number(inexact)}. Put it into quotes to keep its digits.`;
}
