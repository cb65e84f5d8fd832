import { InvalidRequestError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { checkId } from './request-body.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

test.each(['', ' ', '\u00a0\t', '.', '..', '../b', 'a/..', 'a/./b', 'a\\..\\b', 'a\0', 'a\nb', 'a\u0085', '\ud800'])(
  'the id %j is refused',
  (id) => {
    expect(() => checkId('userId', id)).toThrow(InvalidRequestError);
  },
);

test.each(['a', 'a b', 'a/b', '...', '..a', 'ann@example.com', 'ä', '日本', '%2e%2e', '__proto__'])(
  'the id %j is accepted',
  (id) => {
    expect(() => checkId('userId', id)).not.toThrow();
  },
);

const BAD = encodeURIComponent('a/../b');
const RUN = { appName: 'app', newMessage: { parts: [{ text: 'hi' }] } };

test.each([
  ['GET', `/apps/app/users/${BAD}/sessions`, 'userId'],
  ['POST', `/apps/app/users/${BAD}/sessions`, 'userId'],
  ['POST', `/apps/app/users/ann/sessions/${BAD}`, 'sessionId'],
  ['GET', `/apps/app/users/ann/sessions/${BAD}`, 'sessionId'],
  ['PATCH', `/apps/app/users/ann/sessions/${BAD}`, 'sessionId'],
  ['DELETE', `/apps/app/users/${BAD}/sessions/s`, 'userId'],
  ['GET', `/apps/app/users/ann/sessions/${BAD}/artifacts`, 'sessionId'],
  ['DELETE', `/apps/app/users/ann/sessions/${BAD}/artifacts/a.txt`, 'sessionId'],
  ['GET', `/apps/app/users/ann/sessions/${BAD}/runs/e-1`, 'sessionId'],
  ['POST', '/apps/app/users/ann/sessions', 'sessionId', { sessionId: 'a\0b' }],
  ['POST', '/run', 'userId', { ...RUN, userId: '..', sessionId: 's' }],
  ['POST', '/run', 'sessionId', { ...RUN, userId: 'ann', sessionId: ' ' }],
  ['POST', '/run_sse', 'sessionId', { ...RUN, userId: 'ann', sessionId: 'a\\..' }],
] as const)('no route accepts such an id: %s %s', async (method, path, field, body?: object) => {
  const response = await serveApp({ steps: ['no'] }).send(method, path, body);
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: expect.stringMatching(new RegExp(`^${field}: `)), code: 'INVALID_REQUEST' },
  ]);
});
