import { expect, test, vi } from 'vitest';
import { InvalidEventError, SizeLimitError } from '../errors.ts';
import { isToolResult, toolResult } from './tool-result.ts';

const PNG = { inlineData: { mimeType: 'image/png', data: 'aGk=' } };

test('a tool result has a response and a copy of its media', () => {
  const part = { inlineData: { ...PNG.inlineData }, thought: true };
  const result = toolResult({ response: { page: 3 }, parts: [part, { fileData: { fileUri: 'gs://a.pdf' } }] });
  part.inlineData.data = 'changed';
  expect(result.response).toEqual({ page: 3 });
  expect(result.parts).toEqual([PNG, { fileData: { fileUri: 'gs://a.pdf' } }]);
  expect(toolResult({ response: {} }).parts).toEqual([]);
});

test.each([
  [{ response: 'text' }, 'toolResult: response: expected an object'],
  [{ response: {}, parts: [{ text: 'a' }] }, 'toolResult: parts[0]: expected either inlineData or fileData'],
  [
    { response: {}, parts: [{ ...PNG, fileData: { fileUri: 'a' } }] },
    'parts[0]: expected either inlineData or fileData',
  ],
  [{ response: {}, parts: [PNG, { inlineData: { data: 'aGk=' } }] }, 'parts[1].inlineData.mimeType: is missing'],
  [{ response: {}, parts: [{ inlineData: { mimeType: 'a/b', data: '?' } }] }, 'inlineData.data: expected base64 text'],
  [{ response: {}, parts: [{ inlineData: { mimeType: 'a/b', data: new Uint8Array(1) } }] }, 'expected base64 text'],
  [{ response: {}, parts: [{ fileData: { mimeType: 'a/b' } }] }, 'parts[0].fileData.fileUri: is missing'],
])('%j is refused', (given, message) => {
  const make = () => toolResult(given as never);
  expect(make).toThrow(InvalidEventError);
  expect(make).toThrow(message);
});

test('a result has at most 16 parts and 10 MiB of base64', () => {
  const ofSize = (length: number) => ({ inlineData: { mimeType: 'image/png', data: 'a'.repeat(length) } });
  expect(toolResult({ response: {}, parts: Array.from({ length: 16 }, () => PNG) }).parts).toHaveLength(16);
  const many = () => toolResult({ response: {}, parts: Array.from({ length: 17 }, () => PNG) });
  expect(many).toThrow(SizeLimitError);
  expect(many).toThrow('toolResult: has 17 parts; at most 16 are allowed');
  expect(toolResult({ response: {}, parts: [ofSize(5_242_880), ofSize(5_242_880)] }).parts).toHaveLength(2);
  const large = () => toolResult({ response: {}, parts: [ofSize(5_242_880), ofSize(5_242_884)] });
  expect(large).toThrow(SizeLimitError);
  expect(large).toThrow('toolResult: parts have 10485764 characters of base64; at most 10485760 are allowed');
});

test('isToolResult is true for results of another loaded copy, and false for objects of the same shape', async () => {
  vi.resetModules();
  const copy = await import('./tool-result.ts');
  expect(copy.toolResult).not.toBe(toolResult);
  expect(isToolResult(copy.toolResult({ response: {} }))).toBe(true);
  for (const value of [undefined, null, 'a', {}, { response: {}, parts: [] }]) expect(isToolResult(value)).toBe(false);
});
