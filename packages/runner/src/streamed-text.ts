import { createEvent, type Event, type Part } from '@eventloom/core';
import { type ReplyInProgress, ResponseAggregator } from '@eventloom/core/internal';

/**
 * The text that an agent has streamed since its last whole event, which the runner stores if the run is aborted. For agents that are not
 * LlmAgents, which keep their replies themselves.
 */
export class StreamedText implements ReplyInProgress {
  readonly #first: Event;
  readonly #aggregator = new ResponseAggregator();

  /** @param first the first chunk, with all of its fields. It is not added. */
  constructor(first: Event) {
    this.#first = first;
  }

  get responseId(): string | undefined {
    return this.#first.responseId;
  }

  get executionId(): string | undefined {
    return this.#first.executionId;
  }

  add({ content }: Event): void {
    this.#aggregator.add({ content: { ...content, parts: content?.parts?.filter(hasText) ?? [] } });
  }

  toBrokenEvent(): Event {
    const { partial: _, usageMetadata: _usage, ...first } = this.#first;
    // The committer adds the id and the time.
    return createEvent({ ...first, ...this.#aggregator.finishBroken(), id: '', timestamp: 0, actions: {} });
  }
}

/** Returns true for a part with text, thoughts included. */
export function hasText({ text }: Part): boolean {
  return text !== undefined && text !== '';
}
