import { expect, test } from 'vitest';
import { withoutNulls } from './watched-connection.ts';

test('a message without null is returned unchanged', () => {
  const message = { serverContent: { modelTurn: { parts: [{ text: '' }] }, turnComplete: false } };
  expect(withoutNulls(message)).toBe(message);
});

test('null fields and items are removed, and objects without null are not copied', () => {
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

test('null inside call arguments and function responses is kept', () => {
  const calls = { toolCall: { functionCalls: [{ id: null, name: 'f', args: { until: null, all: [null] } }] } };
  expect(withoutNulls(calls)).toEqual({
    toolCall: { functionCalls: [{ name: 'f', args: { until: null, all: [null] } }] },
  });
  const responses = { parts: [{ functionResponse: { name: 'f', response: { found: null } } }] };
  expect(withoutNulls(responses)).toBe(responses);
});
