import { describe, expect, test } from 'vitest';
import { createEvent } from '../event/create-event.ts';
import { ACTIONS, EVENT } from '../event/event-shape.ts';
import { parseEvent } from '../event/parse-event.ts';
import { eventActionsSchema, eventActionsShape, eventSchema, eventShape } from './event-schema.ts';
import { parseBody } from './parse-body.ts';

test('the schemas know the keys that the parser knows', () => {
  const known = Object.keys(EVENT).filter((key) => key !== 'tag');
  expect(Object.keys(eventShape.shape).toSorted()).toEqual(known.toSorted());
  expect(Object.keys(eventActionsShape.shape).toSorted()).toEqual(Object.keys(ACTIONS).toSorted());
});

describe('eventSchema', () => {
  test('reads what parseEvent reads', () => {
    const json = {
      invocation_id: 'e-1',
      author: 'agent',
      timestamp: '2025-11-21T06:12:00Z',
      tag: 'a;b',
      someday: { a_b: 1 },
      usage_metadata: { total_token_count: 3 },
      content: { role: 'model', parts: [{ text: 'hi' }] },
      actions: {
        state_delta: { snake_key: null },
        requested_tool_confirmations: { c_1: { hint: 'sure?', payload: 1 } },
      },
      branch: null,
    };
    expect(parseBody(eventSchema, json)).toEqual(parseEvent(json));
  });

  test('fills in what an event may leave to the runtime', () => {
    expect(parseBody(eventSchema, {})).toEqual(createEvent());
  });

  test('keeps __proto__ among the keys of the user', () => {
    const actions = '{"stateDelta":{"__proto__":1},"artifactDelta":{"__proto__":2}}';
    const event = parseBody(eventSchema, JSON.parse(`{"actions":${actions}}`));
    expect(JSON.stringify(event.actions)).toBe(actions);
  });

  test.each([
    ['{}', 'event: must be an object, is a string'],
    [{ timestamp: 1_763_705_520_123 }, 'timestamp: 1763705520123 is past the year 9999'],
    [{ actions: { artifactDelta: { a: 'x' } } }, 'actions.artifactDelta.a: must be an integer, is a string'],
    [
      { nodeEvent: { eventType: 'a', category: 'x', nodeId: 'n' } },
      'nodeEvent.category: must be one of custom, progress, text',
    ],
    [{ nodeEvent: { eventType: 'a', category: 'text' } }, 'nodeEvent.nodeId: must be a string, is missing'],
    [
      { usageMetadata: { totalTokenCount: 1.5 } },
      'usageMetadata.totalTokenCount: must be an integer, is the number 1.5',
    ],
    [
      { nodeEvent: { eventType: 'a', category: 'progress', nodeId: 'n', progress: 101 } },
      'nodeEvent.progress: must be at most 100',
    ],
    [
      { nodeEvent: { eventType: 'a', category: 'progress', nodeId: 'n', progress: -1 } },
      'nodeEvent.progress: must be at least 0',
    ],
  ])('refuses %j', (event, message) => {
    expect(() => parseBody(eventSchema, event, 'event')).toThrow(message);
  });
});

test('eventActionsSchema reads actions and completes them', () => {
  expect(parseBody(eventActionsSchema, { transfer_to_agent: 'b', escalate: null })).toEqual({
    stateDelta: {},
    artifactDelta: {},
    transferToAgent: 'b',
  });
  expect(() => parseBody(eventActionsSchema, { escalate: 'yes' })).toThrow(
    'escalate: must be true or false, is a string',
  );
});
