/** Times of one operation, in microseconds. */
export interface Measurement {
  readonly medianUs: number;
  readonly minUs: number;
  readonly rounds: number;
}

/** A measured contestant: its name and one round of its work, which returns the number of operations. */
export interface Contestant {
  readonly name: string;
  /** Called before every round; its time is not measured. */
  readonly prepare?: () => Promise<void>;
  /** Runs some operations and returns their number. The time of the round is that of the operations. */
  readonly round: () => Promise<number> | number;
}

/**
 * Times contestants against each other in one process: after a warm-up their rounds take turns, so that other load of
 * the machine affects all of them; the median round counts.
 */
export async function compare(
  contestants: readonly Contestant[],
  rounds = 15,
  warmups = 5,
): Promise<Map<string, Measurement>> {
  const times = new Map<string, number[]>(contestants.map(({ name }) => [name, []]));
  for (let round = -warmups; round < rounds; round++) {
    for (const contestant of contestants) {
      await contestant.prepare?.();
      const start = performance.now();
      const operations = await contestant.round();
      const us = ((performance.now() - start) * 1000) / operations;
      if (round >= 0) times.get(contestant.name)?.push(us);
    }
  }
  return new Map([...times].map(([name, us]) => [name, summarize(us)]));
}

export function summarize(us: readonly number[]): Measurement {
  const sorted = us.toSorted((a, b) => a - b);
  return {
    medianUs: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    minUs: sorted[0] ?? Number.NaN,
    rounds: sorted.length,
  };
}
