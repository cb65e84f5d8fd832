import { createEvent, type Event, type EventCompaction, type EventParams } from '@eventloom/core';

/** Parameters of `maybeSummarizeEvents`. */
export interface SummarizeEventsRequest {
  /**
   * The events to summarize, oldest first, without streamed chunks and without events of agents that were called as
   * tools. An earlier summary that the new one replaces comes first, as an event with the author `model`.
   */
  readonly events: readonly Event[];
  /** Fires when the summary is no longer needed. */
  readonly abortSignal: AbortSignal;
}

/**
 * Summarizes events of a session. Give an instance to the runner's `eventsCompaction.summarizer`. (ADK, "context compaction".)
 *
 * The runner decides when to summarize and which events. It calls the summarizer after a run: one call at a time for each session, several
 * sessions concurrently.
 */
export abstract class BaseEventsSummarizer {
  get '~eventloom.events-summarizer'(): true {
    return true;
  }

  /**
   * Returns an event with the summary in `actions.compaction.compactedContent` (see `createCompactionEvent`), or
   * undefined to keep the events unsummarized. The runner keeps `usageMetadata`, `customMetadata` and `modelVersion`,
   * and sets ids, author, time and the range that the summary covers. An error is reported to the platform and leaves
   * the session unchanged.
   */
  abstract maybeSummarizeEvents(request: SummarizeEventsRequest): Promise<Event | undefined>;
}

/** Returns true for a summarizer. Unlike `instanceof`, it also recognises those of another loaded copy of this package. */
export function isBaseEventsSummarizer(value: unknown): value is BaseEventsSummarizer {
  return typeof value === 'object' && value !== null && '~eventloom.events-summarizer' in value;
}

/** Creates the event that a summarizer returns. The runner sets the covered range, ids and time before it stores the event. */
export function createCompactionEvent(
  compactedContent: EventCompaction['compactedContent'],
  params: Omit<EventParams, 'content' | 'actions'> = {},
): Event {
  const compaction = { startTimestamp: 0, endTimestamp: 0, compactedContent };
  return createEvent({ author: 'user', ...params, actions: { compaction } });
}
