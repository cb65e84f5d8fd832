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

test('the first block of any kind is the code, and what follows it is left out', () => {
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

test('parts in front of the code stay as they are, and blank text goes', () => {
  const before: Part[] = [
    { text: 'hm', thought: true },
    { text: 'so', thoughtSignature: 's' },
  ];
  expect(find(...before, { text: '\n```js\n1\n```' })?.content.parts?.slice(0, -1)).toEqual(before);
});

test('a blank block is passed over', () => {
  expect(find({ text: '```js\n\n```\n```js\n2\n```' })?.code).toBe('2');
});

test('a part that its model’s service ran is passed over, one that it did not run is code', () => {
  const ran: Part[] = [{ executableCode: { code: '1' } }, { codeExecutionResult: { outcome: 'OUTCOME_OK' } }];
  expect(find(...ran)).toBeUndefined();
  const found = find(...ran, { executableCode: { code: '2', id: 'theirs' }, thoughtSignature: 's' });
  expect(found).toMatchObject({ code: '2', language: '' });
  expect(found?.content.parts?.at(-1)).toEqual({ executableCode: { code: '2', id: 'id' }, thoughtSignature: 's' });
});

test('a reply is not modified', () => {
  const content = Object.freeze({ parts: Object.freeze([Object.freeze({ text: 'a ```js\n1\n```' })]) as Part[] });
  expect(findCode(content, BLOCKS, 'id')?.code).toBe('1');
});

test('without delimiters, or without content, there is no code', () => {
  expect(findCode({ parts: [{ text: '```js\n1\n```' }] }, [], 'id')).toBeUndefined();
  expect(findCode(undefined, BLOCKS, 'id')).toBeUndefined();
});

test.each([
  ['openings that nothing closes', '```python\nx'],
  ['blank blocks of one kind', '```python\n\n```'],
])('a long reply of %s is read at once', (_, text) => {
  expect(find({ text: text.repeat(100_000) })).toBeUndefined();
});

test('a block behind an opening of another kind that nothing closes is found', () => {
  const kinds: readonly CodeDelimiters[] = [
    ['<a>', '</a>'],
    ['<b>', '</b>'],
  ];
  const found = (text: string) => findCode({ parts: [{ text }] }, kinds, 'id')?.code;
  expect(found('<a>1<a>2<b>3</b><a>')).toBe('3');
  expect(found('<b> </b><a></a><b>4</b><a>5</a>')).toBe('4');
});
