import { functionCallEvent, functionResponseEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { awaitsOtherResponses, callsToRun } from './open-calls.ts';

test('a reply waits for the calls that nobody answered', () => {
  const events = [
    userEvent('go'),
    functionCallEvent('bot', [
      { id: 'a', name: 'slow' },
      { id: 'b', name: 'slow' },
    ]),
    functionResponseEvent('user', [{ id: 'a', name: 'slow', response: {} }]),
  ];
  expect(awaitsOtherResponses(events)).toBe(true);
  events.push(functionResponseEvent('user', [{ id: 'b', name: 'slow', response: {} }]));
  expect(awaitsOtherResponses(events)).toBe(false);
});

test('a text from the user waits for nothing', () => {
  expect(awaitsOtherResponses([functionCallEvent('bot', [{ id: 'a', name: 'slow' }]), userEvent('and?')])).toBe(false);
});

test('a call that the service answered in the same reply is not run', () => {
  const call = { functionCall: { id: 'a', name: 'remote' } };
  const answered = { functionResponse: { id: 'a', name: 'remote', response: {} } };
  const own = { functionCall: { id: 'b', name: 'local' } };
  expect(callsToRun([call, answered, own])).toEqual([own.functionCall]);
  expect(callsToRun([call, own])).toEqual([call.functionCall, own.functionCall]);
});

test('without ids a response in the same reply answers the call of its name', () => {
  const call = { functionCall: { name: 'remote' } };
  expect(callsToRun([call, { functionResponse: { name: 'remote', response: {} } }])).toEqual([]);
  expect(callsToRun([call, { functionResponse: { name: 'other', response: {} } }])).toEqual([call.functionCall]);
});
