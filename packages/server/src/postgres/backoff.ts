const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** Returns the delay before the next attempt, in milliseconds, after this number of consecutive failures. */
export function backoffMs(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
}
