/**
 * What a word of a query counts, the more the fewer of a user's memories have it: a thousandth of BM25's inverse document
 * frequency, at least 1. An integer, so that a sum is the same in whatever order a back end adds it up.
 */
export function wordWeight(count: number, memories: number): number {
  const rarity = Math.log(1 + (memories - count + 0.5) / (count + 0.5));
  return Math.max(1, Math.round(rarity * 1000));
}
