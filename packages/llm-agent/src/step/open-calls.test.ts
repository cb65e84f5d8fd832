import type { Event } from '@eventloom/core';
import { functionCallEvent, functionResponseEvent, modelEvent, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { awaitsOtherResponses, callsToRun } from './open-calls.ts';

function calling(ids: readonly string[], longRunningToolIds: readonly string[] = ids): Event {
  return functionCallEvent(
    'bot',
    ids.map((id) => ({ id, name: 'f' })),
    { longRunningToolIds },
  );
}

function answering(author: string, ...ids: string[]): Event {
  return functionResponseEvent(
    author,
    ids.map((id) => ({ id, name: 'f', response: {} })),
  );
}

test('one answer of two leaves the agent waiting, the second does not', () => {
  const events = [calling(['a', 'b']), answering('user', 'b')];
  expect(awaitsOtherResponses(events)).toBe(true);
  expect(awaitsOtherResponses([...events, answering('user', 'a')])).toBe(false);
});

test('both answers in one message leave nothing open', () => {
  expect(awaitsOtherResponses([calling(['a', 'b']), answering('user', 'a', 'b')])).toBe(false);
});

test('what ran at once and was answered is not waited for', () => {
  expect(awaitsOtherResponses([calling(['a', 'b'], ['b']), answering('bot', 'a'), answering('user', 'b')])).toBe(false);
});

test('a call that is not long-running and got no answer will never get one, and is not waited for', () => {
  expect(awaitsOtherResponses([calling(['a', 'b'], ['b']), answering('user', 'b')])).toBe(false);
});

test('a call with a first status is answered for now', () => {
  const events = [calling(['a', 'b']), answering('bot', 'a', 'b'), answering('user', 'b')];
  expect(awaitsOtherResponses(events)).toBe(false);
});

test('what the user says is answered, whatever is open', () => {
  expect(awaitsOtherResponses([calling(['a']), userEvent('hello?')])).toBe(false);
  expect(awaitsOtherResponses([calling(['a'])])).toBe(false);
  expect(awaitsOtherResponses([])).toBe(false);
});

test('only the calls of the reply that is answered count', () => {
  const events = [calling(['a']), modelEvent('bot', 'waiting'), calling(['b']), answering('user', 'b')];
  expect(awaitsOtherResponses(events)).toBe(false);
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
