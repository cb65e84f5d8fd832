import type { Event } from '../event/event.ts';

/** What a summarizer is to put into fewer words. */
export interface SummarizeEventsRequest {
  /**
   * In order, without chunks and without what agents did that were called as tools. An earlier summary that is to be part of the
   * new one stands in front as an event of the author `model`.
   */
  readonly events: readonly Event[];
  /** Fires when nobody wants the summary any more. */
  readonly abortSignal: AbortSignal;
}

/**
 * Puts a stretch of a session into fewer words, for `eventsCompaction` of a runner. (ADK, "context compaction".)
 *
 * Which events, and when, is the runner's: it asks between runs, one session at a time, and several sessions at once.
 */
export abstract class BaseEventsSummarizer {
  get '~eventloom.events-summarizer'(): true {
    return true;
  }

  /**
   * An event with the summary as `actions.compaction.compactedContent`; `createCompactionEvent` makes one. Its `usageMetadata` and
   * `customMetadata` are kept. Ids, author, time and the range that it covers are set by the runner. Undefined when there is
   * nothing to summarize: the events stay as they are. What it throws is reported and changes nothing.
   */
  abstract maybeSummarizeEvents(request: SummarizeEventsRequest): Promise<Event | undefined>;
}
