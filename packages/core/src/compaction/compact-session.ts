import type { InvocationContext } from '../context/invocation-context.ts';
import { RunAbortedError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { HistoryPointer } from '../event/event-actions.ts';
import { reportTo } from '../platform/platform.ts';
import { type EventPlace, EventPlaces } from '../session/event-places.ts';
import { effectiveHistory } from './effective-history.ts';

/** The run that is over, of a session that may be compacted. */
export interface CompactionScope {
  readonly context: InvocationContext;
  readonly committer: { append(event: Event): Promise<unknown> };
  readonly loaded: {
    /** Where in the session its events are; undefined for all from the first on. */
    readonly places: EventPlaces | undefined;
    /** What is kept of them in memory. */
    kept?: CountingEvents | undefined;
  };
}

/** The events of a session that count, up to a sequence number. */
export interface CountingEvents {
  readonly events: Event[];
  readonly places: EventPlaces | undefined;
  readonly lastSeq: number;
  readonly derived: Map<unknown, unknown>;
}

const FROM_THE_BEGIN = new EventPlaces([]);

/**
 * Compacts a session, when it is time. What goes wrong is the platform's to report, and changes nothing:
 * the run is what it is, and the next one tries again.
 * @param compact makes the event, if it is time
 */
export async function compactSession(
  { context, committer, loaded }: CompactionScope,
  compact: () => Promise<Event | undefined>,
): Promise<void> {
  const { session, runConfig, platform } = context;
  // A window that somebody chose may lack what a summary has to tell of.
  if (runConfig.getSessionConfig && session.events.length < session.lastSeq) return;
  try {
    const event = await context.whileConnected(compact());
    if (!event) return;
    const { events } = session;
    const places = loaded.places ?? FROM_THE_BEGIN;
    const history = pointBehindCompaction(events, event, places, session.lastSeq + 1);
    await committer.append(history ? { ...event, actions: { ...event.actions, history } } : event);
    // The events that the summary stands for need no memory.
    loaded.kept = { ...eventsThatCount(events, places), lastSeq: session.lastSeq, derived: new Map() };
  } catch (error) {
    if (!RunAbortedError.isInstance(error)) reportTo(platform, error);
  }
}

/**
 * What a compaction says of where to read on, once it is appended to these events. Undefined where that is not known exactly: every
 * later read would be longer than it has to be.
 * @param events all that count @param places theirs
 */
function pointBehindCompaction(
  events: readonly Event[],
  compaction: Event,
  places: EventPlaces,
  seq: number,
): HistoryPointer | undefined {
  const { uncovered, summaries } = effectiveHistory([...events, compaction]);
  const [first] = uncovered;
  if (first !== undefined && !places.isExact(first)) return undefined;
  const keptFrom = first === undefined ? seq : places.seqOf(first);
  const earlier = summaries.map(({ position }) => position).filter((position) => position < events.length);
  const apart = earlier.filter((position) => places.seqOf(position) < keptFrom);
  if (apart.length === 0) return { seq, keptFrom };
  return {
    seq,
    keptFrom,
    summaries: apart.map((position) => events[position]?.id ?? ''),
    summariesFrom: Math.min(...apart.map((position) => places.seqOf(position))),
  };
}

/** The events that count, and where they are: what summaries stand for and what was rewound is left out. */
function eventsThatCount(
  events: readonly Event[],
  places: EventPlaces,
): { readonly events: Event[]; readonly places: EventPlaces } {
  const { uncovered, summaries } = effectiveHistory(events);
  const positions = [...uncovered, ...summaries.map(({ position }) => position)].sort((one, other) => one - other);
  const counting: EventPlace[] = positions.map((position, index) => ({
    index,
    seq: places.seqOf(position),
    ...(!places.isExact(position) && { isBound: true }),
  }));
  return { events: positions.map((position) => events[position] as Event), places: new EventPlaces(counting) };
}
