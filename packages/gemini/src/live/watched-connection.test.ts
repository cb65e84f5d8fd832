import { expect, test } from 'vitest';
import { withoutNulls } from './watched-connection.ts';

test('a message without nulls is passed on as it is', () => {
  const message = { serverContent: { modelTurn: { parts: [{ text: '' }] }, turnComplete: false } };
  expect(withoutNulls(message)).toBe(message);
});

test('fields and items that are null are as if they were not there, and what has none is not copied', () => {
  const part = { text: 'a' };
  const message = {
    usageMetadata: null,
    serverContent: { modelTurn: { role: null, parts: [null, part, { inlineData: null }] }, inputTranscription: null },
  };
  const stripped = withoutNulls(message);
  expect(stripped).toStrictEqual({ serverContent: { modelTurn: { parts: [{ text: 'a' }, {}] } } });
  expect(stripped.serverContent.modelTurn.parts[0]).toBe(part);
  expect(message.serverContent.modelTurn.parts).toHaveLength(3);
});

test('what a call is given and what it gave keeps its nulls', () => {
  const calls = { toolCall: { functionCalls: [{ id: null, name: 'f', args: { until: null, all: [null] } }] } };
  expect(withoutNulls(calls)).toEqual({
    toolCall: { functionCalls: [{ name: 'f', args: { until: null, all: [null] } }] },
  });
  const responses = { parts: [{ functionResponse: { name: 'f', response: { found: null } } }] };
  expect(withoutNulls(responses)).toBe(responses);
});
