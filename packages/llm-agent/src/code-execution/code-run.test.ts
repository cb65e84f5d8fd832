import type { CodeDelimiters, Part } from '@eventloom/core';
import { expect, test } from 'vitest';
import { findCode } from './code-run.ts';

const BLOCKS: readonly CodeDelimiters[] = [
  ['```js\n', '\n```'],
  ['```python\n', '\n```'],
];

function find(...parts: Part[]) {
  return findCode({ role: 'model', parts }, BLOCKS, 'id');
}

test('findCode returns the first block of any kind and drops the text after it', () => {
  const found = find({ text: 'a\n```python\nb()\n```\nc\n```js\nd()\n```' }, { text: 'e' });
  expect(found).toEqual({
    id: 'id',
    code: 'b()',
    language: 'python',
    content: {
      role: 'model',
      parts: [{ text: 'a\n' }, { executableCode: { id: 'id', code: 'b()', language: 'PYTHON' } }],
    },
  });
});

test('findCode keeps the parts before the code and drops blank text', () => {
  const before: Part[] = [
    { text: 'hm', thought: true },
    { text: 'so', thoughtSignature: 's' },
  ];
  expect(find(...before, { text: '\n```js\n1\n```' })?.content.parts?.slice(0, -1)).toEqual(before);
});

test('findCode ignores a blank block', () => {
  expect(find({ text: '```js\n\n```\n```js\n2\n```' })?.code).toBe('2');
});

test("findCode ignores a code part that the model's service ran, and returns one that it did not run", () => {
  const ran: Part[] = [{ executableCode: { code: '1' } }, { codeExecutionResult: { outcome: 'OUTCOME_OK' } }];
  expect(find(...ran)).toBeUndefined();
  const found = find(...ran, { executableCode: { code: '2', id: 'theirs' }, thoughtSignature: 's' });
  expect(found).toMatchObject({ code: '2', language: '' });
  expect(found?.content.parts?.at(-1)).toEqual({ executableCode: { code: '2', id: 'id' }, thoughtSignature: 's' });
});

test('findCode does not modify the reply', () => {
  const content = Object.freeze({ parts: Object.freeze([Object.freeze({ text: 'a ```js\n1\n```' })]) as Part[] });
  expect(findCode(content, BLOCKS, 'id')?.code).toBe('1');
});

test('findCode returns undefined without delimiters or without content', () => {
  expect(findCode({ parts: [{ text: '```js\n1\n```' }] }, [], 'id')).toBeUndefined();
  expect(findCode(undefined, BLOCKS, 'id')).toBeUndefined();
});

test.each([
  ['openings that nothing closes', '```python\nx'],
  ['blank blocks of one kind', '```python\n\n```'],
])('findCode reads a long reply of %s in linear time', (_, text) => {
  expect(find({ text: text.repeat(100_000) })).toBeUndefined();
});

test('findCode finds a block after an unclosed opening of another kind', () => {
  const kinds: readonly CodeDelimiters[] = [
    ['<a>', '</a>'],
    ['<b>', '</b>'],
  ];
  const found = (text: string) => findCode({ parts: [{ text }] }, kinds, 'id')?.code;
  expect(found('<a>1<a>2<b>3</b><a>')).toBe('3');
  expect(found('<b> </b><a></a><b>4</b><a>5</a>')).toBe('4');
});
