import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { LoadMemoryTool, memoryTexts, PreloadMemoryTool } from './memory-tools.ts';

function memory(...texts: string[]) {
  return { content: { parts: texts.map((text) => ({ text })) } };
}

test('texts keep their order, and say who and when where that is known', () => {
  const told = { ...memory('an ', 'owl'), author: 'user', timestamp: '2026-01-01T00:00:00.000Z', id: 'x' };
  expect(memoryTexts([told, memory('a wolf')], 100)).toEqual([
    { content: 'an owl', author: 'user', timestamp: '2026-01-01T00:00:00.000Z' },
    { content: 'a wolf' },
  ]);
});

test('what says nothing is left out: no text, and thoughts', () => {
  const silent = [memory(), memory(''), { content: {} }, { content: { parts: [{ text: 'hm', thought: true }] } }];
  expect(memoryTexts([...silent, memory('owl')], 100)).toEqual([{ content: 'owl' }]);
});

test('the text for which there is no more room is cut, and what comes after it is left out', () => {
  expect(memoryTexts([memory('12345'), memory('67890'), memory('x')], 8)).toEqual([
    { content: '12345' },
    { content: '678…' },
  ]);
  expect(memoryTexts([memory('12345'), memory('x')], 5)).toEqual([{ content: '12345' }]);
  expect(memoryTexts([memory('1234🦉')], 5)[0]?.content.isWellFormed()).toBe(true);
});

test.each([{ limit: 0 }, { limit: 1.5 }, { maxCharacters: -1 }, { maxCharacters: Number.NaN }])(
  'the options %j are refused',
  (options) => {
    expect(() => new LoadMemoryTool(options)).toThrow(ConfigurationError);
    expect(() => new PreloadMemoryTool(options)).toThrow(ConfigurationError);
  },
);
