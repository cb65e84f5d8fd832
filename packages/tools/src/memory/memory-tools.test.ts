import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { LoadMemoryTool, memoryTexts, PreloadMemoryTool } from './memory-tools.ts';

function memory(...texts: string[]) {
  return { content: { parts: texts.map((text) => ({ text })) } };
}

test('memoryTexts keeps the order, separates parts by a space, and has the author and timestamp if known', () => {
  const detailed = { ...memory('an', 'owl'), author: 'user', timestamp: '2026-01-01T00:00:00.000Z', id: 'x' };
  expect(memoryTexts([detailed, memory('a wolf')], 100)).toEqual([
    { content: 'an owl', author: 'user', timestamp: '2026-01-01T00:00:00.000Z' },
    { content: 'a wolf' },
  ]);
});

test('memoryTexts leaves out memories without text and thoughts', () => {
  const silent = [memory(), memory(''), { content: {} }, { content: { parts: [{ text: 'hm', thought: true }] } }];
  expect(memoryTexts([...silent, memory('owl')], 100)).toEqual([{ content: 'owl' }]);
});

test('memoryTexts truncates the text that exceeds maxCharacters and leaves out the rest', () => {
  expect(memoryTexts([memory('12345'), memory('67890'), memory('x')], 8)).toEqual([
    { content: '12345' },
    { content: '678…' },
  ]);
  expect(memoryTexts([memory('12345'), memory('x')], 5)).toEqual([{ content: '12345' }]);
  expect(memoryTexts([memory('1234🦉')], 5)[0]?.content.isWellFormed()).toBe(true);
});

test.each([{ limit: 0 }, { limit: 1.5 }, { maxCharacters: -1 }, { maxCharacters: Number.NaN }])(
  'invalid options %j are refused',
  (options) => {
    expect(() => new LoadMemoryTool(options)).toThrow(ConfigurationError);
    expect(() => new PreloadMemoryTool(options)).toThrow(ConfigurationError);
  },
);
