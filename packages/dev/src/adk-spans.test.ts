import { createEvent, type Event } from '@eventloom/core';
import { expect, test } from 'vitest';
import { toAdkSpans } from './adk-spans.ts';
import type { StoredSpan } from './span-store.ts';

/** A call and, a second later, its response, as a model that names every call `c` makes them. */
function calledAt(second: number, executionId = 'x'): Event[] {
  const call = { functionCall: { id: 'c', name: 'look' } };
  const response = { functionResponse: { id: 'c', name: 'look', response: {} } };
  const event = { invocationId: 'e-1', executionId, branch: executionId, author: 'agent' };
  return [
    createEvent({ ...event, id: `call ${second}`, timestamp: second, content: { role: 'model', parts: [call] } }),
    createEvent({
      ...event,
      id: `response ${second}`,
      timestamp: second + 1,
      content: { role: 'user', parts: [response] },
    }),
  ];
}

function toolSpan(second: number, executionId = 'x'): StoredSpan {
  const attributes = { 'eventloom.execution_id': executionId, 'gen_ai.tool.call.id': 'c' };
  return {
    spanId: `${executionId}${second}`,
    traceId: 't',
    name: 'tool',
    kind: 'tool',
    startMs: second * 1000,
    status: 'ok',
    attributes,
  };
}

function eventIds(events: readonly Event[], spans = [toolSpan(10), toolSpan(20)]): unknown[] {
  return toAdkSpans(spans, events).map(({ attributes }) => attributes['gcp.vertex.agent.event_id']);
}

test('each span of a tool names the response to its own call when the model reuses the id', () => {
  expect(eventIds([...calledAt(10), ...calledAt(20)])).toEqual(['response 10', 'response 20']);
});

test('each span of a tool names the response to the call of its own agent when two agents use the same id', () => {
  const events = [...calledAt(10, 'fast'), ...calledAt(11, 'slow')];
  expect(eventIds(events, [toolSpan(10, 'slow'), toolSpan(10, 'fast')])).toEqual(['response 11', 'response 10']);
});

test('the spans of a rewound run name their events', () => {
  const rewind = createEvent({ author: 'user', actions: { rewindBeforeInvocationId: 'e-1' } });
  expect(eventIds([...calledAt(10), ...calledAt(20), rewind])).toEqual(['response 10', 'response 20']);
});
