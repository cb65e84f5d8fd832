import { describe, expect, test } from 'vitest';
import { createSeededRandom } from '../nemesis/seeded-random.ts';
import { compareSteps, compareWorkflow, playWorkflow } from './play-workflow.ts';
import { generateWorkflow } from './workflow-plan.ts';

/** More seeds: `pnpm workflows --from 201 --to 10000`. */
test('a workflow with pauses does what the same workflow does without them', async () => {
  const faults: Record<number, readonly string[]> = {};
  for (let seed = 1; seed <= 200; seed++) {
    const compared = await compareWorkflow(seed);
    if (compared.faults.length > 0) faults[seed] = compared.faults;
  }
  expect(faults).toEqual({});
});

test('a seed plays the same workflow again', async () => {
  const plays = [await compareWorkflow(4), await compareWorkflow(4)];
  expect(plays[0]?.withPauses.messages).toBeGreaterThan(2);
  expect(plays[1]).toEqual(plays[0]);
});

describe('compareSteps', () => {
  test('finds a difference if a person refuses one approval', async () => {
    const random = createSeededRandom(4);
    const plan = generateWorkflow(random);
    const withoutPauses = await playWorkflow(plan, false, random);
    const withPauses = await playWorkflow(plan, true, random, (number) => number > 1);
    expect(compareSteps(withoutPauses.steps, withPauses.steps).join('\n')).toContain('This tool call is rejected');
  });

  test.each([
    ['nothing if only the order differs', ['a', 'b'], ['b', 'a'], []],
    ['a step that is missing', ['a', 'b'], ['a'], ['b: 1 times without pauses, 0 times with pauses']],
    ['a step that is repeated', ['a'], ['a', 'a'], ['a: 1 times without pauses, 2 times with pauses']],
    ['a step that should not be', [], ['a'], ['a: 0 times without pauses, 1 times with pauses']],
  ])('finds %s', (_, withoutPauses, withPauses, faults) => {
    expect(compareSteps(withoutPauses, withPauses)).toEqual(faults);
  });
});
