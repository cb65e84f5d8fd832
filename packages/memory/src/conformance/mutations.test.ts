import { describe, expect, test } from 'vitest';
import { ConformanceError, memoryServiceConformance } from './index.ts';
import { addMutants, rewindMutants } from './mutants/add-mutants.ts';
import type { Mutant } from './mutants/mutant.ts';
import { deleteMutants, scopeMutants } from './mutants/scope-mutants.ts';
import { rankMutants, wordMutants } from './mutants/search-mutants.ts';

const mutants: readonly Mutant[] = [
  ...addMutants,
  ...rewindMutants,
  ...wordMutants,
  ...rankMutants,
  ...scopeMutants,
  ...deleteMutants,
];

describe('a broken service fails the case of the rule it breaks', () => {
  for (const { breaks, how, make } of mutants) {
    test(`${breaks} fails for a service that ${how}`, async () => {
      const found = memoryServiceConformance(make).find(({ id }) => id === breaks);
      const failure = await found?.run().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(ConformanceError.isInstance(failure), String(failure)).toBe(true);
      expect(failure).toMatchObject({ rule: breaks });
    });
  }
});

test('every rule has a service that breaks it', () => {
  const rules = memoryServiceConformance(() => Promise.reject(new TypeError('not called')));
  const unbroken = rules.map(({ id }) => id).filter((id) => !mutants.some(({ breaks }) => breaks === id));
  expect(unbroken).toEqual([]);
});
