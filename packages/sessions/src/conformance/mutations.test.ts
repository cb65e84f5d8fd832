import { describe, expect, test } from 'vitest';
import { ConformanceError, sessionServiceConformance } from './index.ts';
import { appendMutants } from './mutants/append-mutants.ts';
import { leaseMutants } from './mutants/lease-mutants.ts';
import { ledgerMutants } from './mutants/ledger-mutants.ts';
import { listMutants } from './mutants/list-mutants.ts';
import type { Mutant } from './mutants/mutant.ts';
import { queueMutants } from './mutants/queue-mutants.ts';
import { sessionMutants } from './mutants/session-mutants.ts';
import { stateMutants } from './mutants/state-mutants.ts';
import { windowMutants } from './mutants/window-mutants.ts';

const mutants: readonly Mutant[] = [
  ...sessionMutants,
  ...stateMutants,
  ...appendMutants,
  ...windowMutants,
  ...listMutants,
  ...leaseMutants,
  ...queueMutants,
  ...ledgerMutants,
];

describe('a broken service fails the case of the rule it breaks', () => {
  for (const { breaks, how, make } of mutants) {
    test(`${breaks} notices a service that ${how}`, async () => {
      const found = sessionServiceConformance(make, { hangMs: 500 }).find(({ id }) => id === breaks);
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
  const rules = sessionServiceConformance(() => Promise.reject(new TypeError('not called')));
  const unbroken = rules.map(({ id }) => id).filter((id) => !mutants.some(({ breaks }) => breaks === id));
  expect(unbroken).toEqual([]);
});
