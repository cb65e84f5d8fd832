import {
  type Event,
  type EventCompaction,
  type GetSessionConfig,
  type HistoryPointer,
  type Session,
} from '@eventloom/core';
import { Calls, hasBeginOfRun } from '@eventloom/core/internal';

/** A session with at least all effective events, and their places. */
interface ReadHistory {
  readonly session: Session;
  readonly places: HistoryPlaces | undefined;
}

/**
 * Maximum number of compactions that are checked for covering everything before them. Each check reads the compactions
 * before the checked one.
 */
const MOST_ASKS = 4;

/** Reads the session again. Throws if the session was deleted since the first read. */
export type ReadSession = (config?: GetSessionConfig) => Promise<Session>;

/** Consecutive events of a session. */
interface Piece {
  /** The sequence number of the first event. */
  readonly seq: number;
  /** True if `seq` is only a lower bound and there may be gaps. */
  readonly isBound?: true;
  readonly events: readonly Event[];
}

/**
 * Reads a session backwards from its newest event to its last compaction, or to its start without one. Rewound events are skipped. The cost
 * is therefore that of the events since the last effective compaction, however long the session is.
 *
 * Only sequence numbers decide, not timestamps. A compaction without a history pointer, as other programs write them, ends the read if it
 * covers everything from the session's first event on; earlier events that are still effective are then found by its time. Otherwise it is
 * read like any event. All events are read if a rewind has no history pointer.
 * @param session with some of its newest events; each further read takes four times as many
 */
async function readHistory(session: Session, read: ReadSession): Promise<ReadHistory> {
  /** The pieces read so far, the newest first. */
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
      // The events between the two ends were rewound.
      if (isLeap) later.push({ seq: leaptFrom, events: events.slice(leaptFrom - first) });
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
          const older = await readUnsummarizedEvents(read, compaction, events.slice(0, seq - first), first);
          if (older)
            return joined(session, [
              { seq: 1, events: older, isBound: true },
              { seq: first, events },
              ...later.toReversed(),
            ]);
        }
      }
    }
    seq--;
  }
  const begin = seq < first - 1 ? leaptFrom : Math.max(first, floor);
  const pieces = [{ seq: begin, events: events.slice(begin - first) }, ...later.toReversed()];
  if (!compacted?.summaries) return joined(session, pieces);
  const summaries = await readSummaries(read, compacted, events.slice(0, Math.max(0, floor - first)));
  return summaries ? joined(session, [...summaries, ...pieces]) : readAll(read);
}

/** Reads every event of the session. */
async function readAll(read: ReadSession): Promise<ReadHistory> {
  return { session: await read(), places: undefined };
}

/** Reads the earlier summaries that still count beside a compaction; undefined if they are missing. */
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
  // Their exact numbers would need another read; a lower bound is enough.
  return found.length === wanted.size
    ? found.map((event) => ({ seq: summariesFrom, events: [event], isBound: true as const }))
    : undefined;
}

function joined(session: Session, pieces: readonly Piece[]): ReadHistory {
  const events: Event[] = [];
  const places: HistoryPlace[] = [];
  for (const piece of pieces) {
    const { seq, isBound } = piece;
    places.push({ index: events.length, seq, ...(isBound && { isBound }) });
    for (const event of piece.events) events.push(event);
  }
  return { session: { ...session, events }, places: new HistoryPlaces(places) };
}

/** Returns the history pointer of the event at this sequence number; undefined if it has none that is valid. */
function pointerAt(seq: number, { actions }: Event): HistoryPointer | undefined {
  const pointer = actions.history;
  if (pointer?.seq !== seq) return undefined;
  const { rewoundFrom = 1, keptFrom = 1, summariesFrom = 1 } = pointer;
  const isBefore = [rewoundFrom, keptFrom, summariesFrom].every((at) => Number.isInteger(at) && at >= 1 && at <= seq);
  return isBefore ? pointer : undefined;
}

/**
 * Reads the effective events of a session whose newest events were read. Reads all events if the effective ones lack
 * one of these calls or the invocation.
 */
export async function readBack(
  newest: Session,
  read: ReadSession,
  callIds: readonly string[],
  invocationId: string | undefined,
): Promise<ReadHistory> {
  const found = await readHistory(newest, read);
  const { events, lastSeq } = found.session;
  return events.length < lastSeq && needsEarlierEvents(events, callIds, invocationId) ? readAll(read) : found;
}

/** True if these events lack the first event of the run, or a call that takes the response with one of the ids. */
export function needsEarlierEvents(
  events: readonly Event[],
  callIds: readonly string[],
  invocationId: string | undefined,
): boolean {
  if (invocationId !== undefined && !hasBeginOfRun(events, invocationId)) return true;
  if (callIds.length === 0) return false;
  return new Calls(events).answerable(callIds).includes(undefined);
}

/**
 * Reads the events before `first` that are later than the end of a compaction. Undefined if more may count: an earlier summary that the
 * compaction does not contain, or events that a rewind restored.
 * @param known the events before the compaction that were read already
 * @param first the sequence number of the first of them
 */
async function readUnsummarizedEvents(
  read: ReadSession,
  { startTimestamp, endTimestamp }: EventCompaction,
  known: readonly Event[],
  first: number,
): Promise<readonly Event[] | undefined> {
  const isWithin = ({ actions: { compaction } }: Event): boolean =>
    !compaction || (compaction.startTimestamp >= startTimestamp && compaction.endTimestamp <= endTimestamp);
  if (!known.every(isWithin)) return undefined;
  const earlier = await read({ sinceCompaction: true, beforeSeq: first });
  if (!earlier.events.every(isWithin)) return undefined;
  // The read above is not enough: it omits events that are covered by a rewound compaction.
  const { events } = await read({ afterTimestamp: endTimestamp, beforeSeq: first });
  const all = [...events, ...known];
  const lastRewind = all.findLastIndex(({ actions }) => actions.rewindBeforeInvocationId !== undefined);
  return all.slice(0, Math.max(0, lastRewind)).every(({ timestamp }) => timestamp <= endTimestamp) ? events : undefined;
}

/** The start of consecutive events: its index in a list of events, and its sequence number. */
export interface HistoryPlace {
  readonly index: number;
  readonly seq: number;
  /** True if there may be gaps: the sequence numbers are lower bounds. */
  readonly isBound?: true;
}

/** The sequence numbers of a list of events with gaps. Events that are appended to the list follow its last event directly. */
export class HistoryPlaces {
  readonly #places: readonly HistoryPlace[];

  /** @param places in ascending order, the first of index 0 */
  constructor(places: readonly HistoryPlace[]) {
    this.#places = places;
  }

  /** The sequence number of an event, or a lower bound if it is not known exactly, see `isExact`. */
  seqOf(index: number): number {
    const place = this.#placeOf(index);
    return place ? place.seq + index - place.index : index + 1;
  }

  isExact(index: number): boolean {
    return !this.#placeOf(index)?.isBound;
  }

  #placeOf(index: number): HistoryPlace | undefined {
    return this.#places.findLast((begin) => begin.index <= index);
  }
}

/** The places of a list that begins with the session's first event and lacks none after it. */
export const FROM_THE_START = new HistoryPlaces([]);
