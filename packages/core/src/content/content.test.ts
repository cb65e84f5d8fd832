import { expect, test } from 'vitest';
import { contentText, callsToRun } from './content.ts';

test('joins the text of all parts and leaves thoughts out', () => {
  const parts = [{ text: 'Hm.', thought: true }, { text: 'It is ' }, { functionCall: { name: 'f' } }, { text: '4.' }];
  expect(contentText({ role: 'model', parts })).toBe('It is 4.');
});

test('is empty where there is no content, no part or no text', () => {
  expect(contentText(undefined)).toBe('');
  expect(contentText({ role: 'user' })).toBe('');
  expect(contentText({ parts: [{ inlineData: { data: 'AA' } }] })).toBe('');
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
