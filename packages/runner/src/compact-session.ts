import {
  type BaseSessionService,
  type Event,
  type HistoryPointer,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { reportTo } from '@eventloom/core/internal';
import { effectiveHistory, type EventsCompactor } from '@eventloom/llm-agent/internal';
import type { RunAppender } from './run-appender.ts';
import { type HistoryPlace, HistoryPlaces, FROM_THE_START } from './history-reader.ts';
import type { LoadedSession } from './session-loader.ts';

/** A run that has ended, of a session that may be compacted. */
interface EndedRun {
  readonly context: InvocationContext;
  readonly appender: RunAppender;
  readonly loaded: LoadedSession;
}

/**
 * Compacts the session if the compactor's limits say so. An error is reported to the platform and changes nothing: the
 * run has ended, and the next run tries again.
 */
export async function compactSession(
  compactor: EventsCompactor,
  sessionService: BaseSessionService,
  { context, appender, loaded }: EndedRun,
): Promise<void> {
  const { session, runConfig, platform } = context;
  // A window of the session may lack events that the summary has to cover.
  if (runConfig.getSessionConfig && session.events.length < session.lastSeq) return;
  try {
    const event = await context.whileConnected(compactor.compact(context, sessionService));
    if (!event) return;
    const { events } = session;
    const places = loaded.places ?? FROM_THE_START;
    const history = pointBehindCompaction(events, event, places, session.lastSeq + 1);
    await appender.append(history ? { ...event, actions: { ...event.actions, history } } : event);
    // Summarized events are not kept in memory.
    loaded.cachedInstead = { ...eventsThatCount(events, places), lastSeq: session.lastSeq, derived: new Map() };
  } catch (error) {
    if (!RunAbortedError.isInstance(error)) reportTo(platform, error);
  }
}

/**
 * Returns the pointer that lets later reads stop at the compaction. Undefined if the sequence numbers are not known exactly.
 * @param events all effective events, before the compaction is appended
 */
function pointBehindCompaction(
  events: readonly Event[],
  compaction: Event,
  places: HistoryPlaces,
  seq: number,
): HistoryPointer | undefined {
  const { uncovered, summaries } = effectiveHistory([...events, compaction]);
  const [first] = uncovered;
  if (first !== undefined && !places.isExact(first)) return undefined;
  const keptFrom = first === undefined ? seq : places.seqOf(first);
  const earlier = summaries.map(({ index }) => index).filter((index) => index < events.length);
  const apart = earlier.filter((index) => places.seqOf(index) < keptFrom);
  if (apart.length === 0) return { seq, keptFrom };
  return {
    seq,
    keptFrom,
    summaries: apart.map((index) => events[index]?.id ?? ''),
    summariesFrom: Math.min(...apart.map((index) => places.seqOf(index))),
  };
}

/** Returns the effective events with their places: those that are neither summarized nor rewound. */
function eventsThatCount(
  events: readonly Event[],
  places: HistoryPlaces,
): { readonly events: Event[]; readonly places: HistoryPlaces } {
  const { uncovered, summaries } = effectiveHistory(events);
  const indexes = [...uncovered, ...summaries.map(({ index }) => index)].sort((one, other) => one - other);
  const counting: HistoryPlace[] = indexes.map((from, index) => ({
    index,
    seq: places.seqOf(from),
    ...(!places.isExact(from) && { isBound: true }),
  }));
  return { events: indexes.map((index) => events[index] as Event), places: new HistoryPlaces(counting) };
}
