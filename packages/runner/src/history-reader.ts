import { type Event, type GetSessionConfig, type HistoryPointer, type Session } from '@eventloom/core';
import { type EventPlace, EventPlaces } from './event-places.ts';
import { pointerAt } from './history-pointer.ts';
import { readUncovered } from './read-uncovered.ts';

/** A session with the events that count, and maybe more, and with their places. */
export interface ReadHistory {
  readonly session: Session;
  readonly places: EventPlaces | undefined;
}

/** Of how many compactions it is asked whether they stand for all before them: each time costs the compactions before it. */
const MOST_ASKS = 4;

/** Reads the session of the reader. All reads are of one session: it throws when that was deleted meanwhile. */
export type ReadSession = (config?: GetSessionConfig) => Promise<Session>;

/** Events in order. */
interface Piece {
  /** The sequence number of the first. */
  readonly seq: number;
  /** True when it is no more than a number that the first is not before, and there are gaps. */
  readonly isBound?: true;
  readonly events: readonly Event[];
}

/**
 * Reads a session back from its newest event, up to its last compaction or else to its begin. What was rewound is leapt over. So
 * the cost is that of the events since the last compaction that counts, wherever it is and however long the session.
 *
 * Only sequence numbers are looked at: an event that is dated before what it follows is read like any other. A compaction that does
 * not say where to read on, as those of other programs do not, is the last to read to when it stands for all from the session's
 * first event on; what counts before it is then found by its time. Otherwise it is read like any event, and so is what is before
 * it. All events are read where a rewind does not say where to read on.
 * @param session with some of its newest events; four times as many are read next, and so on
 */
export async function readHistory(session: Session, read: ReadSession): Promise<ReadHistory> {
  const later: Piece[] = [];
  let size = session.events.length;
  let events: readonly Event[] = session.events;
  let first = session.lastSeq - events.length + 1;
  let leaptFrom = session.lastSeq;
  let compacted: HistoryPointer | undefined;
  let begunAt: number | undefined;
  let asks = MOST_ASKS;
  let floor = 1;
  let seq = session.lastSeq;
  while (seq >= floor) {
    if (seq < first) {
      const isLeap = seq < first - 1;
      // What is between the two ends of a leap was undone.
      if (isLeap) later.unshift({ seq: leaptFrom, events: events.slice(leaptFrom - first) });
      else size *= 4;
      const older = await read({ afterSeq: floor - 1, beforeSeq: seq + 1, numRecentEvents: size });
      events = isLeap ? older.events : [...older.events, ...events];
      first = seq + 1 - older.events.length;
    }
    const event = events[seq - first];
    if (!event) return readAll(read);
    const { compaction, rewindBeforeInvocationId } = event.actions;
    if (rewindBeforeInvocationId !== undefined) {
      const { rewoundFrom } = pointerAt(seq, event) ?? {};
      if (rewoundFrom === undefined) return readAll(read);
      leaptFrom = seq;
      seq = rewoundFrom;
    } else if (compaction && !compacted) {
      const pointer = pointerAt(seq, event);
      if (pointer?.keptFrom !== undefined) {
        compacted = pointer;
        floor = pointer.keptFrom;
      } else if (asks > 0) {
        begunAt ??= (await read({ beforeSeq: 2 })).events[0]?.timestamp ?? -Infinity;
        if (compaction.startTimestamp <= begunAt) {
          asks--;
          const older = await readUncovered(read, compaction, events.slice(0, seq - first), first);
          if (older)
            return joined(session, [{ seq: 1, events: older, isBound: true }, { seq: first, events }, ...later]);
        }
      }
    }
    seq--;
  }
  const begin = seq < first - 1 ? leaptFrom : Math.max(first, floor);
  const pieces = [{ seq: begin, events: events.slice(begin - first) }, ...later];
  if (!compacted?.summaries) return joined(session, pieces);
  const summaries = await readSummaries(read, compacted, events.slice(0, Math.max(0, floor - first)));
  return summaries ? joined(session, [...summaries, ...pieces]) : readAll(read);
}

/** Every event of the session. */
export async function readAll(read: ReadSession): Promise<ReadHistory> {
  return { session: await read(), places: undefined };
}

/** The earlier summaries that a compaction leaves; undefined when they are not there. */
async function readSummaries(
  read: ReadSession,
  { keptFrom, summaries = [], summariesFrom = 1 }: HistoryPointer,
  known: readonly Event[],
): Promise<Piece[] | undefined> {
  const wanted = new Set(summaries);
  const isWanted = ({ id }: Event): boolean => wanted.has(id);
  let found = known.filter(isWanted);
  if (found.length < wanted.size) {
    const compactions = await read({ sinceCompaction: true, afterSeq: summariesFrom - 1, beforeSeq: keptFrom });
    found = compactions.events.filter(isWanted);
  }
  // Where exactly they are is not asked for again, only what they are not before.
  return found.length === wanted.size
    ? found.map((event) => ({ seq: summariesFrom, events: [event], isBound: true as const }))
    : undefined;
}

function joined(session: Session, pieces: readonly Piece[]): ReadHistory {
  const events: Event[] = [];
  const places: EventPlace[] = [];
  for (const piece of pieces) {
    const { seq, isBound } = piece;
    places.push({ index: events.length, seq, ...(isBound && { isBound }) });
    for (const event of piece.events) events.push(event);
  }
  return { session: { ...session, events }, places: new EventPlaces(places) };
}
