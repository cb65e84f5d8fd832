import { ScriptedModel } from '@eventloom/testing';
import { getFunctionResponses, REQUEST_CONFIRMATION, REQUEST_INPUT } from 'eventloom';
import { expect, test } from 'vitest';
import { converse, textsOf } from './converse.ts';

const refundOf = (euros: number) => ({ calls: [{ name: 'refund', args: { order: 'A-1', euros } }] });

test('a small refund is paid at once', async () => {
  const model = new ScriptedModel([refundOf(20), 'You have your 20 EUR back.']);
  const { say, session } = converse(model);
  const events = await say('My cup is broken.');

  expect(textsOf(events)).toEqual(['You have your 20 EUR back.']);
  expect(events.flatMap(getFunctionResponses)).toMatchObject([{ name: 'refund', response: { status: 'paid back' } }]);
  expect((await session())?.state).toEqual({ refunded: { order: 'A-1', euros: 20 } });
  // What the model read, in both calls.
  expect(model.requests.map(({ request }) => request.contents.length)).toEqual([1, 3]);
  model.assertConsumed();
});

test.each([
  [true, 'You have your 120 EUR back.', { refunded: { order: 'A-1', euros: 120 } }],
  [false, 'I may not pay that back.', {}],
])('a large refund waits for approval; with the answer %s the customer reads: %s', async (confirmed, text, state) => {
  const model = new ScriptedModel([refundOf(120), text]);
  const { say, answer, session } = converse(model);
  const asked = await say('My chair is broken.');
  expect((await session())?.state).toEqual({});

  const answered = await answer(asked, REQUEST_CONFIRMATION, { confirmed });
  expect(textsOf(answered)).toEqual([text]);
  expect((await session())?.state).toEqual(state);
  model.assertConsumed();
});

test('a delivery asks for the day, and a later process takes the answer', async () => {
  const before = converse(new ScriptedModel([{ calls: [{ name: 'deliver_again', args: { order: 'A-1' } }] }]));
  const asked = await before.say('Nothing came.');

  const after = converse(new ScriptedModel(['It comes on Friday.']), before);
  const answered = await after.answer(asked, REQUEST_INPUT, { result: 'Friday' });
  expect(answered.flatMap(getFunctionResponses)).toMatchObject([{ response: { order: 'A-1', day: 'Friday' } }]);
  expect(textsOf(answered)).toEqual(['It comes on Friday.']);
});
