import { Arena } from './arena.ts';
import type { BackEnd, BackEndName } from './back-ends.ts';
import { type Scenario, SCENARIOS } from './scenarios.ts';

/** Returns the scenarios that the tests of the repository play on a back end, with their rounds. */
export function testedScenarios(backEnd: BackEndName): [string, Scenario, number][] {
  const scenarios: [string, Scenario][] = Object.entries(SCENARIOS);
  return scenarios.flatMap(([name, scenario]): [string, Scenario, number][] => {
    const rounds = scenario.testRounds[backEnd];
    return rounds === undefined ? [] : [[name, scenario, rounds]];
  });
}

/** Plays a scenario. Returns the faults. */
export async function playScenario(scenario: Scenario, backEnd: BackEnd, rounds: number): Promise<string[]> {
  await using arena = new Arena(backEnd, 1);
  await scenario.play(arena, { rounds, sessions: 6 });
  return await arena.findFaults();
}
