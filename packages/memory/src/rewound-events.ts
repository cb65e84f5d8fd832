import type { Event } from '@eventloom/core';

/** A rewind of a session to before an invocation. */
export interface MemoryRewind {
  readonly invocationId: string;
  /** Time of the rewind in seconds since the epoch; events after it are not affected. */
  readonly timestamp: number;
}

/** The events of a session, divided by the rewinds among them. */
interface RewoundEvents {
  /** Events that no rewind covers, in order. */
  readonly counted: Event[];
  /** Events that a rewind covers, the rewinds among them included. */
  readonly covered: Event[];
  readonly rewinds: MemoryRewind[];
}

/**
 * Divides the events. A rewind covers the events from the first one of the invocation that it names up to itself,
 * unless a later rewind covers it.
 */
export function applyRewinds(events: readonly Event[]): RewoundEvents {
  const counted: Event[] = [];
  const covered: Event[] = [];
  const rewinds: MemoryRewind[] = [];
  if (!events.some((event) => event.actions.rewindBeforeInvocationId !== undefined)) {
    return { counted: [...events], covered, rewinds };
  }
  const firsts = new Map<string, number>();
  for (const [index, { invocationId }] of events.entries()) {
    if (!firsts.has(invocationId)) firsts.set(invocationId, index);
  }
  let coveredFrom = Infinity;
  for (const [index, event] of [...events.entries()].reverse()) {
    if (index >= coveredFrom) {
      covered.push(event);
      continue;
    }
    counted.push(event);
    const invocationId = event.actions.rewindBeforeInvocationId;
    if (invocationId === undefined) continue;
    rewinds.push({ invocationId, timestamp: event.timestamp });
    coveredFrom = firsts.get(invocationId) ?? Infinity;
  }
  return { counted: counted.reverse(), covered, rewinds: rewinds.reverse() };
}
