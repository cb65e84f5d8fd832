const FIRST_MS = 100;
const LONGEST_MS = 5000;

/** Returns the time to wait after so many failures in a row before the next attempt. */
export function backoffMs(failures: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (failures - 1));
}
