import { expect, test } from 'vitest';
import type { Part } from '../content/content.ts';
import { InvalidRequestError } from '../errors.ts';
import { createEvent, type EventParams } from './create-event.ts';
import type { Event } from './event.ts';
import { hideTransfers } from './hide-transfers.ts';

const TRANSFER_CALL: Part = { functionCall: { id: 't1', name: 'transfer_to_agent', args: { agent_name: 'b' } } };
const TRANSFER_RESPONSE: Part = { functionResponse: { id: 't1', name: 'transfer_to_agent', response: {} } };
const OTHER_CALL: Part = { functionCall: { id: 'c1', name: 'lookup' } };
const OTHER_RESPONSE: Part = { functionResponse: { id: 'c1', name: 'lookup', response: { result: 1 } } };

function eventOf(id: string, parts: Part[], params: EventParams = {}): Event {
  return createEvent({ id, author: 'a', content: { role: 'model', parts }, ...params });
}

test('hideTransfers removes the call, the response and the announcement of a transfer', () => {
  const before = eventOf('before', [{ text: 'hi' }]);
  const after = eventOf('after', [{ text: 'I am b' }]);
  const shown = hideTransfers([
    before,
    eventOf('call', [TRANSFER_CALL], { tags: ['transfer'] }),
    eventOf('response', [TRANSFER_RESPONSE], { tags: ['transfer'], actions: { transferToAgent: 'b' } }),
    eventOf('announcement', [{ text: 'Transferring control to agent: b' }], { object: 'agent.transfer' }),
    after,
  ]);
  expect(shown).toEqual([before, after]);
});

test.each([
  [{}, 'an object'],
  ['x', 'a string'],
  [undefined, 'nothing'],
])('hideTransfers refuses %j', (value, got) => {
  expect(() => hideTransfers(value as never)).toThrow(InvalidRequestError);
  expect(() => hideTransfers(value as never)).toThrow(
    `hideTransfers: expected events, got ${got}; write hideTransfers(session.events)`,
  );
});

test('a parallel call of another tool stays, with its response', () => {
  const call = eventOf('call', [{ text: 'Let me see.' }, OTHER_CALL, TRANSFER_CALL]);
  const response = eventOf('response', [OTHER_RESPONSE, TRANSFER_RESPONSE]);
  expect(hideTransfers([call, response])).toEqual([
    { ...call, content: { role: 'model', parts: [{ text: 'Let me see.' }, OTHER_CALL] } },
    { ...response, content: { role: 'model', parts: [OTHER_RESPONSE] } },
  ]);
});

test('hideTransfers returns other events unchanged and does not modify its argument', () => {
  const events = [
    eventOf('call', [OTHER_CALL, TRANSFER_CALL]),
    eventOf('empty', []),
    createEvent({ id: 'state', actions: { stateDelta: { a: 1 } } }),
    createEvent({ id: 'bare', content: { role: 'model' } }),
  ];
  const before = structuredClone(events);
  const shown = hideTransfers(events);
  expect(shown.slice(1)).toEqual(events.slice(1));
  expect(shown[1]).toBe(events[1]);
  expect(events).toEqual(before);
});
