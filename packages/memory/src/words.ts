import { fold } from './fold.ts';
import { withoutJoined } from './joined-words.ts';

/** Scripts that put no spaces between words, or join endings to them so that a word is not the whole of what stands between two. */
const DENSE_SCRIPTS =
  '[\\p{scx=Han}\\p{scx=Hiragana}\\p{scx=Katakana}\\p{scx=Bopomofo}\\p{scx=Hangul}\\p{scx=Thai}\\p{scx=Lao}\\p{scx=Khmer}\\p{scx=Myanmar}]';
/** A letter or number of these, with the marks on it. */
const DENSE_LETTER = `(?:[[\\p{L}\\p{N}]&&${DENSE_SCRIPTS}]\\p{M}*)`;
const OTHER_LETTER = `(?:[[\\p{L}\\p{N}]--${DENSE_SCRIPTS}]\\p{M}*)`;
/** One picture, whatever it is joined to and shown with; a flag is two letters of its own kind. */
const EMOJI = '\\p{RI}{2}|\\p{Extended_Pictographic}';

/** A run of a dense script, a word (a very long one is cut into several), or an emoji. */
const RUNS = new RegExp(`(?<dense>${DENSE_LETTER}+)|(?<word>${OTHER_LETTER}{1,64})|${EMOJI}`, 'gv');
const DENSE_LETTERS = new RegExp(DENSE_LETTER, 'gv');

/**
 * The different words of a text, as an index has them: those a query may ask for. Unicode alone decides: neither a dictionary nor
 * the locale, which differ from one runtime to the next.
 */
export function indexWords(text: string): Set<string> {
  return wordsOf(text, (letters) => [...letters, ...pairs(letters)]);
}

/** The different words that a query asks for, in its order, at most `limit`. A run of a dense script is asked for by its pairs. */
export function queryWords(query: string, limit: number): string[] {
  return [...wordsOf(query, (letters) => (letters.length === 1 ? letters : pairs(letters)))].slice(0, limit);
}

function wordsOf(text: string, ofDense: (letters: readonly string[]) => readonly string[]): Set<string> {
  const words = new Set<string>();
  for (const { 0: run, groups } of fold(text).matchAll(RUNS)) {
    if (groups?.['dense'] !== undefined) for (const word of ofDense(run.match(DENSE_LETTERS) ?? [])) words.add(word);
    else if (groups?.['word'] !== undefined) for (const word of withoutJoined(run)) words.add(word);
    else words.add(run);
  }
  return words;
}

function pairs(letters: readonly string[]): string[] {
  return letters.slice(1).map((letter, index) => `${letters[index]}${letter}`);
}
