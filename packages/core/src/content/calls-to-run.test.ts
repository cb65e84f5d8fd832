import { expect, test } from 'vitest';
import { callsToRun } from './calls-to-run.ts';

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
