import { expect, test } from 'vitest';
import { conformanceCases, type MakeService } from './conformance-cases.ts';
import { type Mutant, mutationCases } from './mutation-cases.ts';

/** A contract with two rules: a counter counts, and its name is `counter`. */
interface Counter {
  readonly name: string;
  count(from: number): number;
}

const suite = (make: MakeService<Counter>) =>
  conformanceCases<Counter>(
    [
      {
        id: 'count.up',
        title: 'count adds one',
        check: async ({ service, expect: assert }) => assert.same('count', service.count(1), 2),
      },
      {
        id: 'name',
        title: 'the name',
        check: async ({ service, expect: assert }) => assert.same('name', service.name, 'counter'),
      },
    ],
    make,
  );

const counter: Counter = { name: 'counter', count: (from) => from + 1 };
const mutant = (breaks: string, how: string, service: Counter): Mutant<Counter> => ({
  breaks,
  how,
  make: async () => ({ service }),
});
const down = mutant('count.up', 'counts down', { ...counter, count: (from) => from - 1 });
const nameless = mutant('name', 'has no name', { ...counter, name: '' });

async function failuresOf(mutants: readonly Mutant<Counter>[]): Promise<string[]> {
  const failures: string[] = [];
  for (const { id, run } of mutationCases(suite, mutants))
    await run().catch((error: unknown) => failures.push(`${id}: ${String(error)}`));
  return failures;
}

test('the cases pass if each rule has a mutant that its case finds', async () => {
  expect(await failuresOf([down, nameless])).toEqual([]);
});

test('a rule without a mutant is reported', async () => {
  expect(await failuresOf([down])).toEqual([expect.stringContaining('got ["name"]')]);
});

test.each([
  ['keeps the rule', mutant('name', 'has a name', counter)],
  ['breaks another rule', { ...down, breaks: 'name' }],
  ['names a rule that does not exist', { ...down, breaks: 'names' }],
])('a mutant that %s is reported', async (_title, wrong) => {
  expect(await failuresOf([down, nameless, wrong])).toHaveLength(1);
});
