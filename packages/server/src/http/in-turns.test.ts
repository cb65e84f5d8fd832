import { ManualPlatform } from '@eventloom/core/conformance';
import { expect, test } from 'vitest';
import { UserTurns } from './in-turns.ts';

test.each([
  ['ann', 'ann', 'ann'],
  ['ann', 'bob', 'eve'],
])('reads of %s, %s and %s begin one by one, after other work has run', async (...users) => {
  const platform = new ManualPlatform();
  const turns = new UserTurns(platform);
  let begun = 0;
  // A store in the same process answers without a pause.
  const reads = users.map((userId) => turns.run(userId, async () => ++begun));
  for (const count of [1, 2, 3]) {
    await reads[count - 1];
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toBe(count);
    platform.advance(0);
  }
});
