import { testContext } from '@eventloom/testing';
import { ToolContext } from 'eventloom';
import { expect, test } from 'vitest';
import { deliverAgain, refund } from './agent.ts';

const call = { invocationContext: testContext(), functionCallId: 'call-1' };

test('refund notes the order', async () => {
  const toolContext = new ToolContext({ ...call, toolConfirmation: { confirmed: true } });
  expect(await refund.runAsync({ args: { order: 'A-1', euros: 20 }, toolContext })).toEqual({ status: 'paid back' });
  expect(toolContext.actions.stateDelta).toEqual({ refunded: { order: 'A-1', euros: 20 } });
});

test('refund takes no negative amount', async () => {
  const refusal = refund.runAsync({ args: { order: 'A-1', euros: -5 }, toolContext: new ToolContext(call) });
  await expect(refusal).rejects.toThrow('the arguments of refund are not valid: euros: ');
});

test('deliver_again asks for the day, and delivers with the answer', async () => {
  const asking = new ToolContext(call);
  await deliverAgain.runAsync({ args: { order: 'A-1' }, toolContext: asking });
  expect(asking.actions.requestedInputs?.['call-1']).toMatchObject([{ message: 'On which day?' }]);

  // The key of a question that has none is ''.
  const answered = new ToolContext({ ...call, inputs: new Map([['', 'Friday']]) });
  const response = await deliverAgain.runAsync({ args: { order: 'A-1' }, toolContext: answered });
  expect(response).toEqual({ order: 'A-1', day: 'Friday' });
});
