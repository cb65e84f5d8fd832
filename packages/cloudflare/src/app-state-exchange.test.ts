import { expect, test } from 'vitest';
import { isAppStateResponse, isAppStateExchange } from './app-state-exchange.ts';

const CHANGE = { key: 'a', value: '1' };
const PENDING = { ...CHANGE, seq: 1, writtenMs: 5 };
const EXCHANGE = { sender: 'ann', knownVersion: 0, pending: [PENDING, { ...PENDING, value: null }] };
const ANSWER = { changes: [CHANGE, { ...CHANGE, value: null }], version: 2, hasMore: false };

test('an exchange and its answer are recognised', () => {
  expect([isAppStateExchange(EXCHANGE), isAppStateResponse(ANSWER)]).toEqual([true, true]);
});

test.each([
  null,
  [],
  { ...EXCHANGE, sender: 1 },
  { ...EXCHANGE, knownVersion: -1 },
  { ...EXCHANGE, pending: undefined },
  { ...EXCHANGE, pending: [CHANGE] },
  { ...EXCHANGE, pending: [{ ...PENDING, seq: '1' }] },
  { ...EXCHANGE, pending: [{ ...PENDING, writtenMs: 0.5 }] },
  { ...EXCHANGE, pending: [{ ...PENDING, key: 1 }] },
])('%j is not an exchange', (value) => {
  expect(isAppStateExchange(value)).toBe(false);
});

test.each([
  null,
  { ...ANSWER, changes: {} },
  { ...ANSWER, changes: [null] },
  { ...ANSWER, changes: [{ key: 'a', value: 1 }] },
  { ...ANSWER, version: '2' },
  { ...ANSWER, hasMore: undefined },
])('%j is not an answer', (value) => {
  expect(isAppStateResponse(value)).toBe(false);
});
