import { expect, test } from 'vitest';
import { joinBytes } from './join-bytes.ts';

test('pieces stand one after the other, in bytes of their own', () => {
  const pieces = [Uint8Array.of(1, 2), new Uint8Array(), Uint8Array.of(0, 3, 0).subarray(1, 2)];
  const whole = joinBytes(pieces);
  expect(whole).toEqual(Uint8Array.of(1, 2, 3));
  pieces[0]?.fill(9);
  expect(whole).toEqual(Uint8Array.of(1, 2, 3));
  expect(joinBytes([])).toEqual(new Uint8Array());
});
