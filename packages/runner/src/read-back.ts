import type { Session } from '@eventloom/core';
import { readAll, type ReadHistory, readHistory, type ReadSession } from './history-reader.ts';
import { lacksSomething } from './lacks-something.ts';

/**
 * What counts of a session of which there is more than its newest events: all of it when the calls with these ids, or the invocation with
 * this one, are not among that.
 */
export async function readBack(
  newest: Session,
  read: ReadSession,
  callIds: readonly string[],
  invocationId: string | undefined,
): Promise<ReadHistory> {
  const found = await readHistory(newest, read);
  const { events, lastSeq } = found.session;
  return events.length < lastSeq && lacksSomething(events, callIds, invocationId) ? readAll(read) : found;
}
