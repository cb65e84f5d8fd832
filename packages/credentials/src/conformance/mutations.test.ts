import { describe, expect, test } from 'vitest';
import { ConformanceError, credentialServiceConformance } from './index.ts';
import { credentialMutants } from './mutants/credential-mutants.ts';

describe('a broken service fails the case of the rule it breaks', () => {
  for (const { breaks, how, make } of credentialMutants) {
    test(`${breaks} fails for a service that ${how}`, async () => {
      const found = credentialServiceConformance(make).find(({ id }) => id === breaks);
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
  const rules = credentialServiceConformance(() => Promise.reject(new TypeError('not called')));
  const unbroken = rules.map(({ id }) => id).filter((id) => !credentialMutants.some(({ breaks }) => breaks === id));
  expect(unbroken).toEqual([]);
});
