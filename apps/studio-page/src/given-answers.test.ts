import { functionCallEvent, functionResponseEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { givenAnswersIn } from './given-answers.ts';

const ask = (kind: string, id: string, timestamp: number) => {
  const args = kind === 'confirmation' ? { originalFunctionCall: { id, name: 'pay' } } : { functionCallId: id };
  return functionCallEvent('helper', [{ id: `q-${id}`, name: `adk_request_${kind}`, args }], { timestamp });
};
const answer = (id: string, response: Record<string, unknown>, timestamp: number, author = 'user') =>
  functionResponseEvent(author, [{ id: `q-${id}`, name: 'any', response }], { timestamp });

test('the answers of a person are found by the calls that they were about, with the time until they came', () => {
  const events = [
    ask('confirmation', 'c1', 1),
    ask('confirmation', 'c2', 2),
    ask('input', 'c3', 3),
    ask('credential', 'c4', 4),
    ask('confirmation', 'c5', 5),
    answer('c1', { confirmed: true }, 6),
    answer('c2', { confirmed: false, payload: 'no' }, 7),
    answer('c3', { result: { size: 'M' } }, 8),
    answer('c4', { authType: 'apiKey', apiKey: 'secret' }, 9),
    // The server has closed the call.
    answer('c5', { error: 'interrupted' }, 10, 'helper'),
  ];
  expect(Object.fromEntries(givenAnswersIn(events))).toEqual({
    c1: { decision: 'approved', value: undefined, seconds: 5 },
    c2: { decision: 'rejected', value: 'no', seconds: 5 },
    c3: { decision: 'answered', value: { size: 'M' }, seconds: 5 },
    c4: { decision: 'answered', value: undefined, seconds: 5 },
  });
});
