import { CONSTANTS, FUNCTIONS } from './arithmetic-tokens.ts';
import { calculate } from './calculate.ts';

/** Words for arithmetic operations, with their operators. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/(\d),(?=\d{3}\b)/g, '$1'],
  [/\bplus\b/g, '+'],
  [/\bminus\b/g, '-'],
  [/\b(?:times|multiplied by)\b/g, '*'],
  [/\bdivided by\b/g, '/'],
  [/\bto the power of\b/g, '^'],
  [/\bsquared\b/g, '^ 2'],
  [/\bcubed\b/g, '^ 3'],
  [/\b(?:the )?square root of\b/g, 'sqrt'],
  [/\s?\bper ?cent\b/g, '%'],
  [/(\d)\s?x\s?(?=\d)/g, '$1 * '],
];
/** Matches a date, which is not a subtraction. */
const DATE = /\b\d{4}-\d{2}-\d{2}\b/g;
const PIECE = /\d+(?:\.\d+)?|[-+*/^%(),×÷−]|[\p{L}_]+|\S/gu;
const NAMES = new Set([
  ...Object.keys(FUNCTIONS),
  ...Object.keys(CONSTANTS).filter((name) => name.length > 1),
  'of',
  'mod',
]);
const MAX_EXPRESSIONS = 8;

/** Returns the arithmetic expressions of a text in order, including those whose evaluation fails. */
export function findExpressions(text: string): string[] {
  let source = text.toLowerCase().replaceAll(DATE, ' . ');
  for (const [words, sign] of WORDS) source = source.replaceAll(words, sign);
  const found: string[] = [];
  let pieces: string[] = [];
  let depth = 0;
  for (const [piece] of `${source} .`.matchAll(PIECE)) {
    depth += piece === '(' ? 1 : piece === ')' ? -1 : 0;
    if (isArithmetic(piece) && (piece !== ',' || depth > 0)) {
      pieces.push(piece);
      continue;
    }
    const expression = longestExpression(pieces);
    if (expression !== undefined) found.push(expression);
    pieces = [];
    depth = 0;
  }
  return [...new Set(found)].slice(0, MAX_EXPRESSIONS);
}

function isArithmetic(piece: string): boolean {
  return /^[\d\-+*/^%(),×÷−]/.test(piece) || NAMES.has(piece);
}

/**
 * Returns the longest expression. Words around an expression can look like parts of it (`of`, a dash), so tokens that
 * do not fit are removed at both ends.
 */
function longestExpression(pieces: readonly string[]): string | undefined {
  const isLoose = (piece: string | undefined): boolean => piece !== undefined && /^([+*/^%,)×÷]|of|mod)$/.test(piece);
  let start = 0;
  let end = pieces.length;
  while (start < end && isLoose(pieces[start])) start++;
  while (end > start && !/^[\d)%]|^pi$/.test(pieces[end - 1] ?? '')) end--;
  const kept = pieces.slice(start, end);
  const hasNumber = kept.some((piece) => /^\d|^pi$/.test(piece));
  const hasSign = kept.some((piece) => /^[-+*/^%×÷−]$/.test(piece) || NAMES.has(piece));
  if (!hasNumber || !hasSign || kept.length < 2) return undefined;
  const expression = toText(kept);
  return expression === undefined || isLonelyPercentage(kept) || isCounting(kept) ? undefined : expression;
}

function toText(pieces: readonly string[]): string | undefined {
  const text = pieces
    .join(' ')
    .replaceAll(/ (?=[%),])|(?<=\() /g, '')
    .replaceAll(/\b(\w+) \(/g, '$1(');
  try {
    calculate(text);
    return text;
  } catch {
    // A division by zero is passed on to the tool; text that is not an expression is skipped.
    return /\/ ?0/.test(text) ? text : undefined;
  }
}

function isLonelyPercentage(pieces: readonly string[]): boolean {
  return pieces.length === 2 && pieces[1] === '%';
}

/** True for counting words: "The top 10 of 2024" is not a multiplication. */
function isCounting(pieces: readonly string[]): boolean {
  return pieces.some((piece, index) => piece === 'of' && pieces[index - 1] !== '%');
}
