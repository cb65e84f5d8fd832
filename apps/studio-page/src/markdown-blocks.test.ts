import { createElement, Fragment } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import Markdown from 'react-markdown';
import remarkGfm from 'remark-gfm';
import { describe, expect, test } from 'vitest';
import { isDrawable, markdownBlocks } from './markdown-blocks.ts';

const PARTS = [
  'A paragraph\nof two lines.',
  '# A heading',
  'A heading\n=====',
  '- one\n- two\n\n  more of two\n\n- three',
  '1. one\n\n2. two\n   ```ts\n   const a = 1;\n\n   const b = 2;\n   ```\n3. three',
  '```ts\nconst a = 1;\n\nconst b = 2;\n```',
  '````md\n```\n\ninner\n```\n````',
  '~~~\n```\n\nText that is code.\n~~~',
  '> A quote\n\n> of two parts',
  '| a | b |\n|---|---|\n| 1 | 2 |',
  '    indented\n\n    code',
  '---',
  '*emphasis* and **strong** text',
  '- [x] done\n- [ ] open',
  'Text <b>with\n\nmarkup</b> inside.',
  '5 is a number.',
  '```inline``` code, and\n\na ~~gone~~ word',
  'An image ![alt](https://example.com/a.png) and https://example.com in a text.',
];

const drawn = (text: string): string =>
  renderToStaticMarkup(createElement(Markdown, { remarkPlugins: [remarkGfm] }, text)).replaceAll('\n', '');

const drawnInBlocks = (text: string): string =>
  renderToStaticMarkup(
    createElement(
      Fragment,
      null,
      markdownBlocks(text).map((block, index) =>
        createElement(Markdown, { key: index, remarkPlugins: [remarkGfm] }, block),
      ),
    ),
  ).replaceAll('\n', '');

describe('markdownBlocks', () => {
  test('draws the same as the whole text, for each part after each other one and while it grows', () => {
    for (const first of PARTS)
      for (const second of PARTS) {
        const text = `${first}\n\n${second}\n\nThe end of ${first.length}.`;
        expect(drawnInBlocks(text), text).toBe(drawn(text));
        const half = text.slice(0, Math.floor(text.length / 2));
        expect(drawnInBlocks(half), half).toBe(drawn(half));
      }
  });

  test('keeps a text whole whose parts refer to each other', () => {
    const text = 'See [the page].\n\nMore text.[^1]\n\n[the page]: https://example.com\n\n[^1]: A note.';
    expect(markdownBlocks(text)).toEqual([text]);
  });

  test('changes only the last part while a text grows', () => {
    const text = PARTS.slice(0, 6).join('\n\n');
    let before: readonly string[] = [];
    for (let length = 1; length <= text.length; length++) {
      const blocks = markdownBlocks(text.slice(0, length));
      expect(blocks.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
      expect(blocks.join('')).toBe(text.slice(0, length));
      before = blocks;
    }
    expect(before.length).toBeGreaterThan(3);
  });
});

describe('isDrawable', () => {
  const list = (depth: number): string =>
    Array.from({ length: depth }, (_, index) => `${'  '.repeat(index)}- a`).join('\n');

  test.each([
    ['quotes in each other', '>'.repeat(2000)],
    ['quotes in each other with spaces between them', '> '.repeat(3000)],
    ['lists in each other', list(400)],
    ['lists in each other on one line', `${'1. - '.repeat(500)}a`],
    ['many marks of emphasis', '*a_'.repeat(7000)],
    ['a long paragraph', 'a '.repeat(30_000)],
  ])('is false for %s', (_name, block) => {
    expect(isDrawable(block)).toBe(false);
  });

  test.each<readonly [string, string]>([
    ['an indented line of code', `- code:\n${' '.repeat(200)}return;`],
    ['a long rule', '-'.repeat(500)],
    ['a list with ten levels', list(10)],
    ['a list of a thousand items with strong text', '- **item**\n'.repeat(1000)],
    ...PARTS.map((part): readonly [string, string] => ['a part of a text', part]),
  ])('is true for %s', (_name, block) => {
    expect(isDrawable(block)).toBe(true);
  });
});
