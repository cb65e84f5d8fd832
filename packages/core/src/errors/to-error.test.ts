import { expect, test } from 'vitest';
import { toError } from './to-error.ts';

test('an error is given back as it is, anything else becomes the cause of one with its text', () => {
  const error = new RangeError('no');
  expect(toError(error)).toBe(error);
  expect(toError('no')).toMatchObject({ message: 'no', cause: 'no' });
  expect(toError(undefined)).toMatchObject({ message: 'undefined' });
});

test('what cannot be said as a text is an error all the same', () => {
  const unsayable = {
    toString() {
      throw new TypeError('not even this');
    },
  };
  for (const thrown of [Object.create(null), unsayable]) {
    expect(toError(thrown)).toBeInstanceOf(Error);
    expect(toError(thrown).cause).toBe(thrown);
  }
});
