import { Arena } from './arena.ts';
import type { BackEnd, BackEndName } from './back-ends.ts';
import { type Scenario, SCENARIOS } from './scenarios.ts';

/** The names of the scenarios that are played with the tests of the repository on a back end, and their rounds. */
export function testedScenarios(backEnd: BackEndName): [string, Scenario, number][] {
  const scenarios: [string, Scenario][] = Object.entries(SCENARIOS);
  return scenarios.flatMap(([name, scenario]): [string, Scenario, number][] => {
    const rounds = scenario.testRounds[backEnd];
    return rounds === undefined ? [] : [[name, scenario, rounds]];
  });
}

/** Plays a scenario. Returns what must not be. */
export async function playScenario(scenario: Scenario, backEnd: BackEnd, rounds: number): Promise<string[]> {
  await using arena = new Arena(backEnd, 1);
  await scenario.play(arena, { rounds, sessions: 6 });
  return await arena.findFaults();
}
