import { expect, test } from 'vitest';
import { refusalOf } from './refused-state.ts';

test('a key of a run is refused, because nothing would be stored', () => {
  expect(refusalOf('temp:z', '1')).toContain('lives only as long as a run');
  expect(refusalOf('user:z', '1')).toBeUndefined();
});

test.each([
  ['12345678901234567890', 'The number 12345678901234567890 would be stored as 12345678901234567000.'],
  ['{"a\\"1": [-9007199254740993]}', 'The number -9007199254740993 would be stored as -9007199254740992.'],
  [`-${'9'.repeat(400)}`, '9 is too large to be stored.'],
  ['[1e400]', 'The number 1e400 is too large to be stored.'],
])('a number that would change is refused in %s', (json, message) => {
  expect(refusalOf('key', json)).toContain(message);
});

test.each(['9007199254740992', '"12345678901234567890"', '"\\\\"', '0.1', '-1.5e+30', '[1, "9007199254740993"]'])(
  'the value %s can be stored',
  (json) => expect(refusalOf('key', json)).toBeUndefined(),
);
