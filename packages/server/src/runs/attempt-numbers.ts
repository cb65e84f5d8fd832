/**
 * How many numbers the events of one attempt at a run have. The first attempt has those from 1. One that goes on, maybe in another
 * process that knows nothing of the numbers before, has those of the second in which it begins: they are always higher.
 */
export const NUMBERS_PER_ATTEMPT = 1_000_000;

/**
 * The number of the first event of a run that goes on.
 * @param afterSeq the highest number that is known of it
 */
export function firstSeqOfAttempt(nowMs: number, afterSeq = 0): number {
  const attempt = Math.max(Math.floor(nowMs / 1000), Math.floor(afterSeq / NUMBERS_PER_ATTEMPT) + 1);
  return attempt * NUMBERS_PER_ATTEMPT + 1;
}

/** Tells the attempts at a run apart, and which one is the later. @param lastSeq the newest number of an attempt */
export function attemptOf(lastSeq: number): number {
  return Math.floor(lastSeq / NUMBERS_PER_ATTEMPT);
}

/**
 * The number that a reader goes on behind, of a run whose oldest kept event is `firstSeq`: one that has only events of earlier attempts,
 * or none, reads the attempt from its begin.
 */
export function seqInAttempt(afterSeq: number, firstSeq: number): number {
  return Math.max(afterSeq, Math.floor((firstSeq - 1) / NUMBERS_PER_ATTEMPT) * NUMBERS_PER_ATTEMPT);
}
