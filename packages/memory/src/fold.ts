/**
 * Marks that are left out: accents, vowel points, what an emoji is shown with. Kept are the marks of scripts in which they are
 * what letters are to others, those of India for one, the voice of kana, and the breve by which й is no и.
 */
const LEFT_OUT =
  /(?:[[[\p{Mn}\p{Me}]&&[\p{sc=Inherited}\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}]]--[\u3099\u309a\u0306]]|(?<![Ии])\u0306|\u0640)+/gv;

/** Letters that are written for one another, beyond what Unicode takes for the same. */
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
 * The text without differences of case, width, accents and points. By way of capitals, because some letters have one capital and
 * two small forms.
 */
export function fold(text: string): string {
  const small = text.normalize('NFKD').replace(LEFT_OUT, '').toUpperCase().toLowerCase();
  // Together again what is one letter of several parts, such as a syllable of Hangul.
  return small.replace(ALIKE_LETTERS, (letter) => ALIKE.get(letter) ?? letter).normalize('NFC');
}
