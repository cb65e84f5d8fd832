import type { Content } from '@eventloom/core';

/** Scripts without spaces between words, or with endings joined to words, so that the text between two spaces may be more than one word. */
const DENSE_SCRIPTS =
  '[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]';
/** A letter or number of these scripts, with its marks. */
const DENSE_LETTER = `(?:[[\\p{L}\\p{N}]&&${DENSE_SCRIPTS}]\\p{M}*)`;
const OTHER_LETTER = `(?:[[\\p{L}\\p{N}]--${DENSE_SCRIPTS}]\\p{M}*)`;
/** One emoji with its modifiers and joined emoji; a flag is two regional indicators. */
const EMOJI = '\\p{RI}{2}|\\p{Extended_Pictographic}';

interface WordPatterns {
  /** Matches a run of a dense script, a word (a very long one is split into several), or an emoji. */
  readonly runs: RegExp;
  readonly denseLetters: RegExp;
}

let patterns: WordPatterns | undefined;

/**
 * Returns the patterns that find words. They are made at the first call, because it takes milliseconds: their sets of
 * letters are large.
 */
function wordPatterns(): WordPatterns {
  return (patterns ??= {
    runs: new RegExp(`(?<dense>${DENSE_LETTER}+)|(?<word>${OTHER_LETTER}{1,64})|${EMOJI}`, 'gv'),
    denseLetters: new RegExp(DENSE_LETTER, 'gv'),
  });
}

/**
 * Returns the different words of a text for the index: those that a query can find. Only Unicode properties decide, because dictionaries
 * and locales differ between runtimes.
 */
function indexWords(text: string): Set<string> {
  return wordsOf(text, (letters) => [...letters, ...pairs(letters)]);
}

/** Returns the different words of a query, in its order, at most `limit`. A run of a dense script is searched by its pairs. */
export function queryWords(query: string, limit: number): string[] {
  return [...wordsOf(query, (letters) => (letters.length === 1 ? letters : pairs(letters)))].slice(0, limit);
}

function wordsOf(text: string, ofDense: (letters: readonly string[]) => readonly string[]): Set<string> {
  const words = new Set<string>();
  const { runs, denseLetters } = wordPatterns();
  for (const { 0: run, groups } of fold(text).matchAll(runs)) {
    if (groups?.['dense'] !== undefined) for (const word of ofDense(run.match(denseLetters) ?? [])) words.add(word);
    else if (groups?.['word'] !== undefined) for (const word of withoutJoined(run)) words.add(word);
    else words.add(run);
  }
  return words;
}

function pairs(letters: readonly string[]): string[] {
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}

/**
 * Marks that are left out of words: accents, vowel points, and variation selectors of emoji. Marks that distinguish letters are kept:
 * those of Indian scripts, the voicing of kana, and the breve of й.
 */
const LEFT_OUT =
  /(?:[[[\p{Mn}\p{Me}]&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309a\u0306]]|(?<![Ии])\u0306|\u0640)+/gv;

/** Letters that are used interchangeably although Unicode normalization keeps them apart. */
const ALIKE: ReadonlyMap<string, string> = new Map([
  ['ς', 'σ'],
  ['ß', 'ss'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['ħ', 'h'],
  ['ł', 'l'],
  ['ø', 'o'],
  ['ŧ', 't'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ٱ', 'ا'],
  ['ى', 'ي'],
  ['ی', 'ي'],
  ['ک', 'ك'],
  ['ة', 'ه'],
]);
const ALIKE_LETTERS = new RegExp(`[${[...ALIKE.keys()].join('')}]`, 'gv');

/**
 * Returns the text without differences of case, width, accents and points. The text is converted to upper case first, because some letters
 * have one capital and two small forms.
 */
function fold(text: string): string {
  const small = text.normalize('NFKD').replace(LEFT_OUT, '').toUpperCase().toLowerCase();
  // Joins the parts of a composed letter, such as a syllable of Hangul.
  return small.replace(ALIKE_LETTERS, (letter) => ALIKE.get(letter) ?? letter).normalize('NFC');
}

/** Prefixes that can precede a word without a space, in this order, each at most once. */
type Joints = readonly RegExp[];

/** "And" or "so"; then a preposition, the article, or both. The rest is long enough to be a word. */
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
 * Returns a folded word, and its forms without the prefixes that its script may join to it, because the letters alone do not show whether
 * they are a prefix.
 */
function withoutJoined(word: string): string[] {
  const words = [word];
  const joints = /^\p{sc=Arabic}/v.test(word) ? ARABIC : /^\p{sc=Hebrew}/v.test(word) ? HEBREW : [];
  for (const joint of joints) {
    words.push(...words.filter((found) => joint.test(found)).map((found) => found.replace(joint, '')));
  }
  return words;
}

/**
 * Version of the word splitting; it changes whenever `memoryWords` returns other words for a text. A back end stores it
 * with its index and rebuilds the index with `memoryWords` if the stored version is older, because queries use words of
 * this version.
 */
export const MEMORY_WORDS_VERSION = 2;

/** Returns the words that a search finds a memory by: each once, as well-formed Unicode. Empty if the content has none. */
export function memoryWords(content: Content): Set<string> {
  // Parts are separate: the end of one and the beginning of the next are not one word.
  return indexWords((content.parts ?? []).map(({ text }) => text).join('\n'));
}
