import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findStartWithoutSubject, findWordToDecode } from '../../scripts/plain-words.ts';

// The linter checks comments, strings and docstrings of the sources with the same rules (scripts/lint-rules.ts).

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

// A stroke stands for a blank, so that the linter passes this file.
describe('a word to decode is found', () => {
  test.each([
    ['the model is|told that', 'is|told'],
    ['the run goes|\n   * on with the answer', 'goes|on'],
    ['a name that is|none', 'is|none'],
    ['a folder that is|none: it is installed', 'is|none'],
    ['the call was cut|off', 'cut|off'],
    ['it is given in|vain', 'in|vain'],
  ])('%s', (text, word) => {
    expect(findWordToDecode(text.replace('|', ' '))).toBe(word.replace('|', ' '));
  });
});

test.each([
  'undefined if there is none',
  'the caller tells the model',
  'the user told you in earlier conversations',
  'a callback-based one',
])('plain English passes: %s', (text) => {
  expect(findWordToDecode(text)).toBeUndefined();
});

test.each([
  ['* What a message answers.', 'What'],
  ['*\n   * In order.', 'In'],
  ['* For the client.', 'For'],
  ['* Told before a step.', 'Told'],
])('a docstring without a subject is found: %j', (docstring, first) => {
  expect(findStartWithoutSubject(docstring)).toBe(first);
});

test.each(['* Returns the run.', '* In live runs: true when the model has finished.', '* Time in milliseconds.'])(
  'a docstring that starts with a verb, the thing or a label passes: %j',
  (docstring) => {
    expect(findStartWithoutSubject(docstring)).toBeUndefined();
  },
);
