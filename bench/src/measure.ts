/** Times of one thing, in microseconds per operation. */
export interface Measurement {
  readonly medianUs: number;
  readonly minUs: number;
  readonly rounds: number;
}

/** A measured contestant: its name and one round of its work, which returns the number of operations. */
export interface Contestant {
  readonly name: string;
  /** Goes before every round and takes no time of it. */
  readonly prepare?: () => Promise<void>;
  /** Runs some operations and gives their number. Its time is all of the round's. */
  readonly round: () => Promise<number> | number;
}

/**
 * Times contestants against each other in one process: after a warm-up their rounds take turns, so that whatever else the
 * machine does meets all of them, and the median round counts.
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
