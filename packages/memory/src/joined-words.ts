/** What may be joined to the front of a word, in the order in which it is, each at most once. */
type Joints = readonly RegExp[];

/** "And" or "so"; then a preposition, the article, or both. What remains is long enough to be a word. */
const ARABIC: Joints = [
  /^(?:و(?=\p{sc=Arabic}{3})|ف(?=\p{sc=Arabic}{4}))/v,
  /^(?:[بك]?ال|لل)(?=\p{sc=Arabic}{2})|^[بكل](?=\p{sc=Arabic}{4})/v,
];
/** "And"; "that" or "when"; a preposition; the article. */
const HEBREW: Joints = [
  /^ו(?=\p{sc=Hebrew}{3})/v,
  /^[כמ]?ש(?=\p{sc=Hebrew}{3})/v,
  /^[בכלמ](?=\p{sc=Hebrew}{3})/v,
  /^ה(?=\p{sc=Hebrew}{2})/v,
];

/**
 * A folded word, and what it is without what its script joins to the front of words, where that may be so: the letters alone do
 * not tell whether they are joined or the word's own.
 */
export function withoutJoined(word: string): string[] {
  const words = [word];
  const joints = /^\p{sc=Arabic}/v.test(word) ? ARABIC : /^\p{sc=Hebrew}/v.test(word) ? HEBREW : [];
  for (const joint of joints) {
    words.push(...words.filter((found) => joint.test(found)).map((found) => found.replace(joint, '')));
  }
  return words;
}
