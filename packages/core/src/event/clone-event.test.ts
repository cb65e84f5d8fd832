import { expect, test } from 'vitest';
import { systemPlatform } from '../platform/platform.ts';
import { cloneEvent } from './clone-event.ts';
import { createEvent } from './create-event.ts';
import { getStructuredOutput, STRUCTURED_OUTPUT } from './event.ts';

test('a clone is a deep copy under an id of its own', () => {
  const event = createEvent({
    id: 'first',
    author: 'agent',
    content: { role: 'model', parts: [{ text: 'hi' }] },
    actions: { stateDelta: JSON.parse('{"a":{"b":1},"__proto__":2}') as Record<string, unknown> },
  });
  const clone = cloneEvent(event, { ...systemPlatform, newEventId: () => 'second' });
  expect(clone).toEqual({ ...event, id: 'second' });
  expect(JSON.stringify(clone.actions)).toBe(JSON.stringify(event.actions));
  expect(clone.content?.parts?.[0]).not.toBe(event.content?.parts?.[0]);
  expect(clone.actions.stateDelta['a']).not.toBe(event.actions.stateDelta['a']);
});

test('a clone has the same structured output, and none where there was none', () => {
  const output = new Map([['a', 1]]);
  const event = createEvent({ [STRUCTURED_OUTPUT]: output });
  expect(getStructuredOutput(cloneEvent(event))).toBe(output);
  expect(STRUCTURED_OUTPUT in cloneEvent(createEvent())).toBe(false);
});

test('structured output goes with neither JSON nor structuredClone', () => {
  const event = createEvent({ [STRUCTURED_OUTPUT]: { typed: true } });
  expect(getStructuredOutput(structuredClone(event))).toBeUndefined();
  expect(JSON.stringify(event)).not.toContain('typed');
});
