import { createEvent, createEventActions, type Event, type EventParams } from '@eventloom/core';
import { STRUCTURED_OUTPUT } from '@eventloom/core/internal';
import { describe, expect, test } from 'vitest';
import { AgentReply } from './agent-reply.ts';

function said(text: string, params: EventParams = {}): Event {
  return createEvent({ author: 'helper', content: { role: 'model', parts: [{ text }] }, ...params });
}

function resultOf(...events: Event[]): unknown {
  const answer = new AgentReply('helper', createEventActions());
  for (const event of events) answer.add(event);
  return answer.result();
}

describe('the answer is', () => {
  test('the text of the last final event, regardless of later events', () => {
    const call = createEvent({ content: { parts: [{ text: 'let me see', functionCall: { name: 'f' } }] } });
    expect(resultOf(said('first'), call, said('last'), createEvent({ actions: { stateDelta: { a: 1 } } }))).toBe(
      'last',
    );
  });

  test('not a chunk', () => {
    expect(resultOf(said('las', { partial: true }), said('t', { partial: true }), said('last'))).toBe('last');
    expect(resultOf(said('las', { partial: true }))).toBe('');
  });

  test('the structured value if there is one, even an empty one', () => {
    expect(resultOf({ ...said('{"a":1}'), [STRUCTURED_OUTPUT]: { a: 1 } })).toEqual({ a: 1 });
    expect(resultOf({ ...said('null'), [STRUCTURED_OUTPUT]: null })).toBeNull();
  });

  test('the response of a tool with skipSummarization', () => {
    const respond = (...responses: Record<string, unknown>[]) =>
      createEvent({
        content: { parts: responses.map((response) => ({ functionResponse: { name: 'f', response } })) },
        actions: { skipSummarization: true },
      });
    expect(resultOf(respond({ a: 1 }))).toEqual({ a: 1 });
    expect(resultOf(respond({ a: 1 }, { b: 2 }))).toEqual([{ a: 1 }, { b: 2 }]);
  });

  test('an error if the last event is an error without content', () => {
    expect(resultOf(createEvent({ errorCode: 'SAFETY', errorMessage: 'no' }))).toEqual({ error: 'no' });
    expect(resultOf(createEvent({ errorCode: 'SAFETY' }))).toEqual({ error: 'SAFETY' });
  });

  test('an error with the partial answer if the answer was truncated', () => {
    const truncated = { errorCode: 'MAX_TOKENS', errorMessage: 'too long' };
    expect(resultOf(said('half', truncated))).toEqual({ error: 'too long', output: 'half' });
    expect(resultOf(said('half', truncated), said('whole'))).toBe('whole');
  });

  test('an error if a long-running call has no result', () => {
    const waiting = createEvent({
      content: { parts: [{ functionCall: { id: 'a', name: 'f' } }, { functionCall: { id: 'b', name: 'later' } }] },
      longRunningToolIds: ['b'],
    });
    expect(resultOf(waiting)).toEqual({ error: expect.stringContaining('waits for the result of later') });
  });
});

test('artifacts are added to the actions, and later versions win; chunks, state and signals are not added', () => {
  const actions = createEventActions({ stateDelta: { own: 1 } });
  const answer = new AgentReply('helper', actions);
  answer.add(said('a', { actions: { stateDelta: { x: 1 }, artifactDelta: { f: 0, g: 0 }, escalate: true } }));
  answer.add(said('b', { actions: { removedState: ['y'], artifactDelta: { f: 1 } } }));
  answer.add(said('c', { partial: true, actions: { artifactDelta: { never: 1 } } }));
  expect(actions).toEqual({ stateDelta: { own: 1 }, artifactDelta: { f: 1, g: 0 } });
});

test('the answer treats names like __proto__ as data', () => {
  const actions = createEventActions();
  new AgentReply('helper', actions).add(said('a', { actions: { artifactDelta: JSON.parse('{"__proto__": 1}') } }));
  expect(Object.keys(actions.artifactDelta)).toEqual(['__proto__']);
});
