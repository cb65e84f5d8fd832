import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  findEmptyDescription,
  findPackageAsTag,
  findStartWithoutSubject,
  findTitleWithoutSubject,
  findWordToDecode,
  findWordToDecodeInName,
} from '../../scripts/plain-words.ts';

// The linter checks comments, strings, names and docstrings of the sources with the same rules (scripts/lint-rules.ts).

const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', '.changeset/*.md', '{docs,examples,packages,bench,apps}/**/*.md'], {
  cwd: root,
  exclude: (path) => /(^|[\\/])(node_modules|dist)$/.test(path),
}).toSorted();

test('there are pages', () => {
  expect(pages.length).toBeGreaterThan(60);
});

test('no page has a word that readers must decode', () => {
  const found = pages.flatMap((page) => {
    const paragraphs = readFileSync(join(root, page), 'utf8').split(/\n\s*\n|\n(?=[|#-] ?)/);
    return paragraphs.flatMap((paragraph) => {
      const word = findWordToDecode(paragraph);
      return word === undefined ? [] : [`${page}: "${word}" in: ${paragraph.slice(0, 100)}`];
    });
  });
  expect(found).toEqual([]);
});

const MAX_WORDS_OF_A_DECISION = 260;

/** Returns the faults of a decision page: a part that is missing, and more than half a page of words. */
function decisionFaults(text: string): string[] {
  const parts = ['Context', 'Options', 'Choice', 'Price'].filter((name) => !text.includes(`\n**${name}.**`));
  const count = text.split(/\s+/).filter((word) => /\w/.test(word)).length;
  const faults = parts.map((name) => `has no ${name}`);
  return count > MAX_WORDS_OF_A_DECISION ? [...faults, `has ${count} words`] : faults;
}

test('each decision page has its context, options, choice and price, in half a page', () => {
  const decisions = pages.filter((page) => /^docs[\\/]decisions[\\/]/.test(page));
  expect(decisions.length).toBeGreaterThan(30);
  const found = decisions.flatMap((page) =>
    decisionFaults(readFileSync(join(root, page), 'utf8')).map((fault) => `${page}: ${fault}`),
  );
  expect(found).toEqual([]);
});

test('a decision page that lacks a part or is too long is found', () => {
  const whole = '# A\n\n**Context.** a\n\n**Options.** b\n\n**Choice.** c\n\n**Price.** d\n';
  expect(decisionFaults(whole)).toEqual([]);
  expect(decisionFaults(whole.replace('**Price.** d', ''))).toEqual(['has no Price']);
  expect(decisionFaults(whole + 'word '.repeat(300))).toEqual(['has 309 words']);
});

// A stroke replaces a blank, so that the linter passes this file.
describe('a word to decode is found', () => {
  test.each([
    ['the model is|told that', 'is|told'],
    ['the run goes|\n   * on with the answer', 'goes|on'],
    ['a name that is|none', 'is|none'],
    ['a folder that is|none: it is installed', 'is|none'],
    ['the call was cut|off', 'cut|off'],
    ['it is given in|vain', 'in|vain'],
    ['a value that is|no event', 'that is|no'],
    ['values that are|no models', 'that are|no'],
  ])('%s', (text, word) => {
    expect(findWordToDecode(text.replace('|', ' '))).toBe(word.replace('|', ' '));
  });
});

test.each([
  'undefined if there is none',
  'the caller tells the model',
  'the user told you in earlier conversations',
  'a callback-based one',
  'a run that is no longer open',
])('plain English passes: %s', (text) => {
  expect(findWordToDecode(text)).toBeUndefined();
});

// The names are joined here, so that the linter passes this file.
test.each([
  ['is-told', 'told'],
  ['go-on-reading', 'go on'],
  ['LAST-WORDS', 'last words'],
])('a name with a word to decode is found: %s', (name, word) => {
  expect(findWordToDecodeInName(`${name}.ts`)).toBe(word);
  const camel = name.toLowerCase().replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  expect(findWordToDecodeInName(camel)).toBe(word);
});

test.each(['Turns', 'confine'])('a name that was replaced is found: %s', (name) => {
  expect(findWordToDecodeInName(name)).toBe(name);
});

test.each(['turns', 'isOutboxed', 'fittingCount'])('a name that contains a replaced one passes: %s', (name) => {
  expect(findWordToDecodeInName(name)).toBeUndefined();
});

test.each(['goOnce', 'isOnline', 'RUN_GOES_ON', 'RunGoesOnError', 'threshold'])('a plain name passes: %s', (name) => {
  expect(findWordToDecodeInName(name)).toBeUndefined();
});

test.each([
  ['* Secret.', 'Secret.'],
  ['* The program.', 'The program.'],
  ['*\n   * Connects.\n   * @throws TypeError for an address that is not a URL', 'Connects.'],
])('a docstring that says nothing is found: %j', (docstring, found) => {
  expect(findEmptyDescription(docstring)).toBe(found);
});

test.each(['* @throws TypeError for no URL', '* Default 1.', '* See `Call.id`.', '* Ends the request.'])(
  'a docstring of tags, of a value or of a sentence passes: %j',
  (docstring) => {
    expect(findEmptyDescription(docstring)).toBeUndefined();
  },
);

test.each([
  ['* What a message answers.', 'What'],
  ['*\n   * In order.', 'In'],
  ['* For the client.', 'For'],
  ['* Told before a step.', 'Told'],
  ['* Of `node:fs`.', 'Of'],
])('a docstring without a subject is found: %j', (docstring, first) => {
  expect(findStartWithoutSubject(docstring)).toBe(first);
});

test.each(['* Returns the run.', '* In live runs: true when the model has finished.', '* Time in milliseconds.'])(
  'a docstring that starts with a verb, the thing or a label passes: %j',
  (docstring) => {
    expect(findStartWithoutSubject(docstring)).toBeUndefined();
  },
);

test.each([
  ['is empty without text', 'is'],
  ['of a run that was lost', 'of'],
  ['only declares its function', 'only declares'],
])('a title without a subject is found: %s', (title, first) => {
  expect(findTitleWithoutSubject(title)).toBe(first);
});

test.each(['a run is resumed', 'of two runs the later one wins', 'without a key nothing is sent', 'requests are sent'])(
  'a title with a subject passes: %s',
  (title) => {
    expect(findTitleWithoutSubject(title)).toBeUndefined();
  },
);

test('a package name that editors take for a tag is found', () => {
  expect(findPackageAsTag('* The client of @google/genai.')).toBe('@google/genai');
  expect(findPackageAsTag('*\n * @eventloom/adk has another')).toBe('@eventloom/adk');
  expect(findPackageAsTag("* `@google/genai`\n * @throws TypeError\n * import { a } from '@a/b';")).toBeUndefined();
});
