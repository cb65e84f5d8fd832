import type { Content, Part } from '@eventloom/core';
import { expect, test } from 'vitest';
import { inputFilesOf, withFileNames } from './code-contents.ts';

function bytes(data: string, mimeType?: string, displayName?: string): Part {
  return { inlineData: { data, ...(mimeType !== undefined && { mimeType }), ...(displayName && { displayName }) } };
}

function user(...parts: Part[]): Content {
  return { role: 'user', parts };
}

test.each([
  ['text/csv', 'file_1.csv'],
  ['text/csv; charset=utf-8', 'file_1.csv'],
  ['image/svg+xml', 'file_1.xml'],
  ['text/', 'file_1.bin'],
  ['', 'file_1.bin'],
  [undefined, 'file_1.stream'],
])('inputFilesOf names a file of type %s without a name %s', (mimeType, name) => {
  expect(inputFilesOf(user(bytes('YQ==', mimeType))).map((file) => file.name)).toEqual([name]);
});

test('inputFilesOf reads a long MIME type in linear time', () => {
  // A quadratic search takes minutes for it.
  const mimeType = `${'a'.repeat(1_000_000)}!`;
  expect(inputFilesOf(user(bytes('YQ==', mimeType)))).toEqual([{ name: 'file_1.bin', content: 'YQ==', mimeType }]);
  expect(inputFilesOf(user(bytes('YQ==', 'a'.repeat(1_000_000))))[0]?.name).toBe('file_1.bin');
});

test('withFileNames puts names before the files in the newest message that holds them', () => {
  const message = user({ text: 'sum' }, bytes('YQ==', 'text/csv', 'sales.csv'), bytes('Yg==', 'image/png'));
  const contents = [message, { role: 'model', parts: [{ text: 'Which?' }] }, message, user({ text: 'all' })];
  const before = structuredClone(contents);
  const named = withFileNames(contents, inputFilesOf(message));
  expect(contents).toEqual(before);
  expect(named.toSpliced(2, 1)).toEqual(contents.toSpliced(2, 1));
  expect(named[2]?.parts).toEqual([
    { text: 'sum' },
    { text: 'File `sales.csv` (text/csv):' },
    message.parts?.[1],
    { text: 'File `file_2.png` (image/png):' },
    message.parts?.[2],
  ]);
});

test('withFileNames leaves contents without the files unchanged', () => {
  const contents = [user({ text: 'hi' }), user(bytes('YQ=='))];
  expect(withFileNames(contents, [{ name: 'a', content: 'Yg==', mimeType: 'text/csv' }])).toEqual(contents);
  expect(withFileNames(contents, [])).toEqual(contents);
});
