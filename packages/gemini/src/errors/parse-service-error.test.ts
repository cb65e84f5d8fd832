import { expect, test } from 'vitest';
import { parseServiceError } from './parse-service-error.ts';

const error = { error: { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' } };
const json = JSON.stringify(error);
const read = { message: 'The model is overloaded.', status: 'UNAVAILABLE' };

test.each([
  ['by itself', json],
  ['behind other words', `got status: UNAVAILABLE. ${json}`],
  ['as a frame', `data: ${json}\r\n\r\n`],
  ['in a list', `[${json}]`],
  ['as text in the message of another', JSON.stringify({ error: { message: json, code: 400, status: 'Bad Request' } })],
])('parseServiceError finds an error %s', (_where, text) => {
  expect(parseServiceError(text)).toEqual(read);
});

test.each([
  ['a text', 'nothing to see'],
  ['broken JSON', '{"error":'],
  ['a number', '[1]'],
  ['nothing', ''],
])('parseServiceError returns undefined for %s', (_what, text) => {
  expect(parseServiceError(text)).toBeUndefined();
});

test('errors in other formats give the fields that they have', () => {
  expect(parseServiceError('{"message":"no route"}')).toEqual({ message: 'no route' });
  expect(parseServiceError('{"error":"not found"}')).toEqual({ message: 'not found' });
  expect(parseServiceError('{"error":{"status":"Bad Request","message":" "}}')).toEqual({});
});

test.each([
  ['34.4s', 34_400],
  ['0.001s', 1],
  ['7s', 7000],
  [{ seconds: '2', nanos: 500_000_000 }, 2500],
  ['soon', undefined],
  [{ seconds: 'x' }, undefined],
])('parseServiceError reads the retry delay %j as %s ms', (retryDelay, expected) => {
  const details = [{ '@type': 'x' }, { retryDelay }];
  expect(parseServiceError(JSON.stringify({ error: { details } }))?.retryDelayMs).toBe(expected);
});

test('dayQuota is true for a daily quota only', () => {
  const quota = (quotaId: string) => JSON.stringify({ error: { details: [{ violations: [{ quotaId }] }] } });
  expect(parseServiceError(quota('GenerateRequestsPerDayPerProjectPerModel-FreeTier'))?.dayQuota).toBe(true);
  expect(parseServiceError(quota('GenerateRequestsPerMinutePerProjectPerModel-FreeTier'))?.dayQuota).toBeUndefined();
});

test('parsing stops at errors nested ten deep', () => {
  let text = json;
  for (let depth = 0; depth < 10; depth++) text = JSON.stringify({ error: { message: text, code: 400 } });
  expect(parseServiceError(text)).toHaveProperty('message');
});
