import { createEvent, type Event, type EventCompaction, type EventParams } from '@eventloom/core';

/** Parameters of `maybeSummarizeEvents`. */
export interface SummarizeEventsRequest {
  /**
   * The events to summarize, in order, without chunks and without events of agents that were called as tools. An earlier summary that
   * the new one replaces comes first, as an event of the author `model`.
   */
  readonly events: readonly Event[];
  /** Fires when the summary is no longer needed. */
  readonly abortSignal: AbortSignal;
}

/**
 * Summarizes events of a session, for `eventsCompaction` of a runner. (ADK, "context compaction".)
 *
 * The runner decides when and which events. It calls a summarizer after runs, once at a time for each session, for several sessions
 * at once.
 */
export abstract class BaseEventsSummarizer {
  get '~eventloom.events-summarizer'(): true {
    return true;
  }

  /**
   * Returns an event with the summary as `actions.compaction.compactedContent`, see `createCompactionEvent`; undefined to leave the
   * events as they are. `usageMetadata`, `customMetadata` and `modelVersion` are kept; the runner sets ids, author, time and the range
   * that the summary covers. An error is reported to the platform and leaves the session as it is.
   */
  abstract maybeSummarizeEvents(request: SummarizeEventsRequest): Promise<Event | undefined>;
}

/** True for summarizers, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseEventsSummarizer(value: unknown): value is BaseEventsSummarizer {
  return typeof value === 'object' && value !== null && '~eventloom.events-summarizer' in value;
}

/** Creates the event that a summarizer returns. The runner fills in the range and whatever else is missing. */
export function createCompactionEvent(
  compactedContent: EventCompaction['compactedContent'],
  params: Omit<EventParams, 'content' | 'actions'> = {},
): Event {
  const compaction = { startTimestamp: 0, endTimestamp: 0, compactedContent };
  return createEvent({ author: 'user', ...params, actions: { compaction } });
}
