import type { Message } from '@eventloom/client';

/** Messages of a long sequence of calls that are not shown until the person asks for them. */
export interface FoldedCalls {
  /** The index of the first of them. */
  readonly start: number;
  /** The index after the last of them. */
  readonly end: number;
  readonly calls: number;
  readonly failed: number;
}

/** A sequence with fewer messages is shown whole. */
const LEAST = 6;

/** Number of messages at the end of a sequence that are shown, beside its first one. */
const KEPT = 2;

/**
 * Returns the middles of long sequences of messages of one agent in one run that have nothing but ended calls. The newest run is left
 * whole, because the person may be reading it.
 *
 * @param saved the ids of messages below which files are shown: these messages are shown, too
 */
export function foldedCalls(
  messages: readonly Message[],
  saved: Pick<ReadonlySet<string>, 'has'>,
): readonly FoldedCalls[] {
  const newest = messages.at(-1)?.invocationId;
  const folded: FoldedCalls[] = [];
  let first = 0;
  for (const [index, { author, invocationId }] of messages.entries()) {
    const next = messages[index + 1];
    const isContinued =
      next?.author === author && next.invocationId === invocationId && hasOnlyCalls(next) && !saved.has(next.id);
    if (isContinued) continue;
    const [start, end] = [first + 1, index + 1 - KEPT];
    if (invocationId !== newest && index + 1 - first >= LEAST) {
      const calls = messages.slice(start, end).flatMap(({ parts }) => parts);
      const failed = calls.filter((part) => part.type === 'call' && part.status === 'failed');
      folded.push({ start, end, calls: calls.length, failed: failed.length });
    }
    first = index + 1;
  }
  return folded;
}

/** The states of a call that has not ended, which must be seen. */
const OPEN: readonly string[] = ['streaming', 'running', 'waiting'];

function hasOnlyCalls({ parts }: Message): boolean {
  return parts.length > 0 && parts.every((part) => part.type === 'call' && !OPEN.includes(part.status));
}
