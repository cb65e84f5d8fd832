import { analyse, type ParsedLiteral } from 'scslre';

type Pattern = ParsedLiteral['pattern'];
type Alternative = Pattern['alternatives'][number];
type Element = Alternative['elements'][number];
type Quantifier = Extract<Element, { type: 'Quantifier' }>;

/** Continues a match at a position of the text. Returns the end of the match; undefined if there is none. */
type Continuation = (at: number) => number | undefined;

/** Number of characters of the shorter text that a pattern is tried on. The longer one has twice as many. */
const LENGTH = 250;
/** Steps for twice the text, in relation to those for the text: 2 if the time is linear, 4 if it is quadratic. */
const LARGEST_GROWTH = 2.6;
/** Number of steps after which a match is given up, as not linear. */
const MOST_STEPS = 200_000;

/**
 * Returns a text of words of the expression whose repetition it matches in more than linear time; undefined if there is
 * none. It counts the characters that a backtracking matcher compares, so the result does not depend on the machine.
 */
export function superLinearWord(expression: RegExp): string | undefined {
  const { pattern } = analyse(expression).parsed;
  const words = wordsOf(pattern);
  for (const [index, word] of words.entries()) {
    for (const start of new Set(['', words.slice(0, index).join('')])) {
      const [steps, twice] = [LENGTH, 2 * LENGTH].map((length) =>
        countSteps(expression, pattern, start + word.repeat(Math.ceil(length / word.length))),
      );
      if (steps === undefined || twice === undefined) continue;
      if (twice > MOST_STEPS || twice > LARGEST_GROWTH * steps) return word;
    }
  }
  return undefined;
}

/** Returns the texts of two and more characters that stand in the pattern as they are, in order, and all of them together. */
function wordsOf({ alternatives }: Pattern): string[] {
  const words: string[] = [];
  const visit = (alternative: Alternative): void => {
    let word = '';
    const end = (): void => {
      if (word.length > 1) words.push(word);
      word = '';
    };
    for (const element of alternative.elements) {
      if (element.type === 'Character') {
        word += String.fromCodePoint(element.value);
        continue;
      }
      end();
      const inner = element.type === 'Quantifier' ? element.element : element;
      if ('alternatives' in inner) inner.alternatives.forEach(visit);
    }
    end();
  };
  alternatives.forEach(visit);
  return words.length > 1 ? [...words, words.join('')] : words;
}

/** Counts the characters that a backtracking matcher compares to find the match in a text, or with the flag `g` all of them. */
function countSteps({ global, sticky, multiline, flags }: RegExp, { alternatives }: Pattern, text: string): number {
  const characters = Array.from(text);
  const known = new Map<Element, Map<string, boolean>>();
  let steps = 0;

  const isWord = (character: string | undefined): boolean => character !== undefined && /\w/.test(character);
  const isEdge = (character: string | undefined): boolean =>
    character === undefined || (multiline && character === '\n');
  const fits = (element: Element, character: string | undefined): boolean => {
    steps++;
    if (character === undefined) return false;
    let results = known.get(element);
    if (!results) known.set(element, (results = new Map()));
    let result = results.get(character);
    if (result === undefined)
      results.set(character, (result = new RegExp(`^${element.raw}$`, flags.replace(/[gmy]/g, '')).test(character)));
    return result;
  };

  const matchAny = (choices: readonly Alternative[], at: number, isBack: boolean, next: Continuation) => {
    for (const { elements } of choices) {
      const end = matchAll(isBack ? elements.toReversed() : elements, 0, at, isBack, next);
      if (end !== undefined || steps > MOST_STEPS) return end;
    }
    return undefined;
  };

  const matchAll = (
    elements: readonly Element[],
    index: number,
    at: number,
    isBack: boolean,
    next: Continuation,
  ): number | undefined => {
    const element = elements[index];
    if (!element) return next(at);
    return match(element, at, isBack, (end) => matchAll(elements, index + 1, end, isBack, next));
  };

  const match = (element: Element, at: number, isBack: boolean, next: Continuation): number | undefined => {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return matchAny(element.alternatives, at, isBack, next);
      case 'Quantifier':
        return repeat(element, 0, at, isBack, next);
      case 'Assertion': {
        if (element.kind === 'lookahead' || element.kind === 'lookbehind') {
          const found = matchAny(element.alternatives, at, element.kind === 'lookbehind', (end) => end);
          return (found === undefined) === element.negate ? next(at) : undefined;
        }
        const before = characters[at - 1];
        const after = characters[at];
        const isThere =
          element.kind === 'word'
            ? (isWord(before) !== isWord(after)) !== element.negate
            : isEdge(element.kind === 'start' ? before : after);
        return isThere ? next(at) : undefined;
      }
      case 'Backreference':
        throw new Error(`the steps of a pattern with ${element.raw} are not counted`);
      default:
        return fits(element, characters[isBack ? at - 1 : at]) ? next(isBack ? at - 1 : at + 1) : undefined;
    }
  };

  const repeat = (quantifier: Quantifier, count: number, at: number, isBack: boolean, next: Continuation) => {
    const { element, min, max, greedy } = quantifier;
    const again = (): number | undefined =>
      count < max
        ? match(element, at, isBack, (end): number | undefined =>
            // A repetition that takes no character ends.
            end === at && count >= min ? undefined : repeat(quantifier, count + 1, end, isBack, next),
          )
        : undefined;
    if (count < min) return again();
    if (steps > MOST_STEPS) return undefined;
    return greedy ? (again() ?? next(at)) : (next(at) ?? again());
  };

  for (let at = 0; at <= characters.length && steps <= MOST_STEPS;) {
    const end = matchAny(alternatives, at, false, (found) => found);
    if (sticky || (end !== undefined && !global)) break;
    at = end === undefined || end === at ? at + 1 : end;
  }
  return steps;
}
