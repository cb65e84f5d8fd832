import { expect, test } from 'vitest';
import { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from './event-builders.ts';

test('each builder sets the author and the role', () => {
  expect(userEvent('hi', { id: 'e1' })).toMatchObject({
    id: 'e1',
    author: 'user',
    content: { role: 'user', parts: [{ text: 'hi' }] },
  });
  expect(modelEvent('bot', [{ text: 'a' }, { text: 'b', thought: true }])).toMatchObject({
    author: 'bot',
    content: { role: 'model', parts: [{ text: 'a' }, { text: 'b', thought: true }] },
  });
  expect(functionCallEvent('bot', [{ id: 'c', name: 'f', args: {} }]).content).toEqual({
    role: 'model',
    parts: [{ functionCall: { id: 'c', name: 'f', args: {} } }],
  });
  expect(functionResponseEvent('bot', [{ id: 'c', name: 'f', response: { result: 1 } }])).toMatchObject({
    author: 'bot',
    content: { role: 'user', parts: [{ functionResponse: { id: 'c', name: 'f', response: { result: 1 } } }] },
    actions: { stateDelta: {}, artifactDelta: {} },
  });
});
