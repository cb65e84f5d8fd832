interface Interval {
  /** Seconds since the epoch. */
  readonly start: number;
  readonly end: number;
}

/** A part of the time axis in which nothing worked. */
interface DrawnWait {
  /** Percent of the axis. */
  readonly position: number;
  readonly width: number;
}

/** The time axis of a waterfall, on which waits for a person, or for a server that was lost, are drawn short. */
export interface TimeScale {
  readonly workedSeconds: number;
  readonly waitedSeconds: number;
  readonly waits: readonly DrawnWait[];
  /** Returns the position of a time in percent of the axis. */
  readonly at: (time: number) => number;
}

/** A shorter pause, in seconds, is part of the work, and one that is shorter than this share of it. */
const MIN_WAIT_SECONDS = 0.25;
const MIN_WAIT_SHARE = 0.05;

/** The share of the work that a wait is drawn as. */
const DRAWN_SHARE = 0.04;

/**
 * Creates the time axis of a run.
 *
 * @param work the times in which something worked
 */
export function createTimeScale({ start, end }: Interval, work: readonly Interval[]): TimeScale {
  const gaps: Interval[] = [];
  let busyUntil: number | undefined;
  for (const each of work.toSorted((a, b) => a.start - b.start)) {
    if (busyUntil !== undefined && each.start > busyUntil) gaps.push({ start: busyUntil, end: each.start });
    busyUntil = Math.max(busyUntil ?? each.end, each.end);
  }
  const busy = end - start - sumOfLengths(gaps);
  const waits = gaps.filter((gap) => lengthOf(gap) >= MIN_WAIT_SECONDS && lengthOf(gap) > busy * MIN_WAIT_SHARE);
  const waited = sumOfLengths(waits);
  const worked = end - start - waited;
  const drawn = worked * DRAWN_SHARE;
  const length = Math.max(worked + waits.length * drawn, 0.001);
  const at = (time: number): number => {
    const left = waits.reduce((sum, wait) => {
      const share = Math.min(Math.max((time - wait.start) / lengthOf(wait), 0), 1);
      return sum - share * (lengthOf(wait) - drawn);
    }, time - start);
    return (left / length) * 100;
  };
  return {
    workedSeconds: worked,
    waitedSeconds: waited,
    waits: waits.map((wait) => ({ position: at(wait.start), width: at(wait.end) - at(wait.start) })),
    at,
  };
}

function lengthOf({ start, end }: Interval): number {
  return end - start;
}

function sumOfLengths(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, each) => sum + lengthOf(each), 0);
}
