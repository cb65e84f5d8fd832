import { InvalidRequestError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { preferredWait } from './run-routes.ts';

test.each([
  [null, 30],
  ['', 30],
  ['respond-async', 30],
  ['waiting=5', 30],
  ['wait=5', 5],
  ['Wait = 5', 5],
  ['respond-async; x=1, wait="5"; y', 5],
  ['wait=3600', 60],
])('Prefer: %s waits for %d seconds', (header, seconds) => expect(preferredWait(header)).toBe(seconds));

test.each(['wait', 'wait=', 'wait=0', 'wait=-1', 'wait=1.5', 'wait=soon', 'wait=9999999', 'wait=5, wait=6'])(
  'Prefer: %s is refused',
  (header) => expect(() => preferredWait(header)).toThrow(InvalidRequestError),
);
