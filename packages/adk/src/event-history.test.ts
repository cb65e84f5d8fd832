import { expect, test } from 'vitest';
import { createAdkEvent } from './event-history.ts';

test.each([
  ['in milliseconds', 1_770_714_900_500, 1_770_714_900.5],
  ['in seconds', 1_770_714_900.5, 1_770_714_900.5],
  ['of the last second of the year 9999', 253_402_300_799, 253_402_300_799],
])('createEvent of the ADK takes a timestamp %s', (_, timestamp, seconds) => {
  expect(createAdkEvent({ author: 'ann', timestamp }).timestamp).toBe(seconds);
});

test('createEvent of the ADK gives the present time without a timestamp', () => {
  expect(createAdkEvent().timestamp).toBeLessThan(253_402_300_799);
});
