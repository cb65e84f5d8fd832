import { describe, expect, test } from 'vitest';
import { ConformanceError, InMemoryRunRelay, RunNetwork, runRelayConformance } from './index.ts';
import { relayMutants } from './relay-mutants.ts';

describe('a relay in memory', () => {
  const cases = runRelayConformance(async () => {
    const network = new RunNetwork();
    return { service: new InMemoryRunRelay(network), another: () => new InMemoryRunRelay(network) };
  });
  test.each(cases)('$id: $title', ({ run }) => run());
});

describe('a broken relay fails the case of the rule it breaks', () => {
  for (const { breaks, how, make } of relayMutants) {
    test(`${breaks} notices a relay that ${how}`, async () => {
      const found = runRelayConformance(make, { hangMs: 500 }).find(({ id }) => id === breaks);
      const failure = await found?.run().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(ConformanceError.isInstance(failure), String(failure)).toBe(true);
      expect(failure).toMatchObject({ rule: breaks });
    });
  }
});

test('every rule has a relay that breaks it', () => {
  const rules = runRelayConformance(() => Promise.reject(new TypeError('not called')));
  const unbroken = rules.map(({ id }) => id).filter((id) => !relayMutants.some(({ breaks }) => breaks === id));
  expect(unbroken).toEqual([]);
});
