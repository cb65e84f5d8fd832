import { createEvent } from '@eventloom/core';
import { emptyConversation, type Message, reduceEvents } from '@eventloom/client';
import { expect, test } from 'vitest';
import { foldedCalls } from './folded-calls.ts';

/** Returns the messages of a run with this many messages of two calls each, of which the third fails. */
function messagesOf(run: string, count: number): readonly Message[] {
  const event = { invocationId: run, author: 'clerk' };
  const events = Array.from({ length: count }, (_, at) => {
    const ids = [`${run}-${at}-a`, `${run}-${at}-b`];
    const response = at === 2 ? { error: 'no' } : {};
    return [
      createEvent({
        ...event,
        content: { role: 'model', parts: ids.map((id) => ({ functionCall: { id, name: 'find', args: {} } })) },
      }),
      createEvent({
        ...event,
        content: { role: 'user', parts: ids.map((id) => ({ functionResponse: { id, name: 'find', response } })) },
      }),
    ];
  });
  return reduceEvents(emptyConversation, events.flat()).messages;
}

const NONE = new Set<string>();
const last = messagesOf('last', 1);

test('the middle of a long sequence of calls is folded, with its failures counted', () => {
  expect(foldedCalls([...messagesOf('first', 8), ...last], NONE)).toEqual([{ start: 1, end: 6, calls: 10, failed: 2 }]);
});

test('a short sequence, the newest run, and messages with files stay whole', () => {
  const long = messagesOf('first', 8);
  expect(foldedCalls([...messagesOf('first', 5), ...last], NONE)).toEqual([]);
  expect(foldedCalls([...last, ...long], NONE)).toEqual([]);
  expect(foldedCalls([...long, ...last], new Set(long.slice(4, 5).map(({ id }) => id)))).toEqual([]);
});
