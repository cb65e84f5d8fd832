import { expect, test } from 'vitest';
import { EventIds } from './event-ids.ts';

/** A number of ids so large that some have the same hash. */
const MANY = 400_000;

test('every id keeps its first index, even if hashes collide', () => {
  const ids = Array.from({ length: MANY }, (_, index) => `event ${index}`);
  const table = new EventIds({ idAt: (index) => ids[index] });
  expect(ids.findIndex((id, index) => table.claim(id, index) !== index)).toBe(-1);
  expect(ids.findIndex((id, index) => table.claim(id, MANY) !== index)).toBe(-1);
});
