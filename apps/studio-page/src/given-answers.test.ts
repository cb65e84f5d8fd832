import { Calls } from '@eventloom/core/internal';
import { functionCallEvent, functionResponseEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { askedToolsIn, callKey, givenAnswersIn } from './given-answers.ts';

interface Place {
  readonly invocationId: string;
  readonly branch?: string;
}
const RUN: Place = { invocationId: 'e' };
const call = (id: string, place = RUN) => functionCallEvent('helper', [{ id, name: 'pay', args: {} }], place);
const ask = (kind: string, id: string, timestamp: number, place = RUN) => {
  const args = kind === 'confirmation' ? { originalFunctionCall: { id, name: 'pay' } } : { functionCallId: id };
  return functionCallEvent('helper', [{ id: `q-${id}`, name: `adk_request_${kind}`, args }], { ...place, timestamp });
};
const answer = (id: string, response: Record<string, unknown>, timestamp: number, author = 'user', place = RUN) =>
  functionResponseEvent(author, [{ id: `q-${id}`, name: 'any', response }], { ...place, timestamp });

test('the answers of a person are found by the calls that they were about, with the time until they came', () => {
  const events = [
    ...['c1', 'c2', 'c3', 'c4', 'c5'].map((id) => call(id)),
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
  const given = givenAnswersIn(new Calls(events));
  expect(['c1', 'c2', 'c3', 'c4', 'c5'].map((id) => given.get(callKey(id, { invocationId: 'e' })))).toEqual([
    { decision: 'approved', value: undefined, seconds: 5 },
    { decision: 'rejected', value: 'no', seconds: 5 },
    { decision: 'answered', value: { size: 'M' }, seconds: 5 },
    { decision: 'answered', value: undefined, seconds: 5 },
    undefined,
  ]);
});

test('each of two calls of parallel agents with the same id has its own answer', () => {
  const places = ['both.a', 'both.b'].map((branch) => ({ invocationId: 'e', branch }));
  const events = [
    ...places.map((place) => call('c', place)),
    ...places.map((place, index) => ask('confirmation', 'c', index, place)),
    ...places.map((place, index) => answer('c', { confirmed: index === 0 }, 5, 'user', place)),
  ];
  const given = givenAnswersIn(new Calls(events));
  expect(places.map((place) => given.get(callKey('c', place)))).toMatchObject([
    { decision: 'approved', seconds: 5 },
    { decision: 'rejected', seconds: 4 },
  ]);
});

test('a request names the tool of the call on its own branch, and a confirmation also without the event of the call', () => {
  const request = (id: string, name: string, args: Record<string, unknown>, branch: string) =>
    functionCallEvent('helper', [{ id, name: `adk_request_${name}`, args }], { invocationId: 'e', branch });
  const events = [
    functionCallEvent('a', [{ id: 'c', name: 'login', args: {} }], { invocationId: 'e', branch: 'both.a' }),
    functionCallEvent('b', [{ id: 'c', name: 'pay', args: {} }], { invocationId: 'e', branch: 'both.b' }),
    request('q1', 'credential', { functionCallId: 'c' }, 'both.a'),
    request('q2', 'confirmation', { originalFunctionCall: { id: 'd', name: 'send' } }, 'both.b'),
    request('q3', 'input', {}, 'both.b'),
  ];
  expect([...askedToolsIn(new Calls(events))]).toEqual([
    ['q1', 'login'],
    ['q2', 'send'],
  ]);
});
