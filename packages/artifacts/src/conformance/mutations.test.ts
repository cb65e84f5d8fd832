import { describe, expect, test } from 'vitest';
import { artifactServiceConformance, ConformanceError } from './index.ts';
import type { Mutant } from './mutants/mutant.ts';
import { nameMutants, saveMutants } from './mutants/save-mutants.ts';
import { versionMutants } from './mutants/version-mutants.ts';

const mutants: readonly Mutant[] = [...saveMutants, ...nameMutants, ...versionMutants];

describe('a broken service fails the case of the rule it breaks', () => {
  for (const { breaks, how, make } of mutants) {
    test(`${breaks} fails for a service that ${how}`, async () => {
      const found = artifactServiceConformance(make).find(({ id }) => id === breaks);
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
  const rules = artifactServiceConformance(() => Promise.reject(new TypeError('not called')));
  const unbroken = rules.map(({ id }) => id).filter((id) => !mutants.some(({ breaks }) => breaks === id));
  expect(unbroken).toEqual([]);
});
