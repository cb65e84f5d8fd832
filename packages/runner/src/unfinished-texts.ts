import { createEvent, type Event, type Part } from '@eventloom/core';
import { type ReplyInProgress, ResponseAggregator } from '@eventloom/core/internal';

/**
 * The texts that agents without a model call of ours are streaming, one for each branch: the run stores them if it is aborted. A model call
 * keeps the text of its reply itself.
 */
export class UnfinishedTexts {
  /** The replies that the run stores if it is aborted. */
  readonly #replies: Set<ReplyInProgress>;
  readonly #byBranch = new Map<string, StreamedText>();
  /** The `responseId` of the model call whose chunk came last. Its agent keeps its text. */
  #modelReplyId: string | undefined;

  constructor(replies: Set<ReplyInProgress>) {
    this.#replies = replies;
  }

  /**
   * Keeps the text of a chunk until a whole event follows on its branch, unless a model call keeps it.
   * @param given the chunk before plugins replaced it
   */
  keep(chunk: Event, given: Event = chunk): void {
    const { responseId, executionId, branch = '' } = given;
    if (responseId !== undefined && responseId === this.#modelReplyId) return;
    if (chunk.nodeEvent || !chunk.content?.parts?.some(hasText)) return;
    for (const reply of this.#replies)
      if (responseId !== undefined && reply.responseId === responseId && !(reply instanceof StreamedText)) {
        this.#modelReplyId = responseId;
        return;
      }
    let reply = this.#byBranch.get(branch);
    if (!reply || reply.executionId !== executionId) {
      this.drop(branch);
      reply = new StreamedText(chunk);
      this.#byBranch.set(branch, reply);
      this.#replies.add(reply);
    }
    reply.add(chunk);
  }

  /** Forgets the chunks of a branch: an event with the whole reply is stored, or another agent speaks. */
  drop(branch = ''): void {
    const reply = this.#byBranch.get(branch);
    if (!reply) return;
    this.#byBranch.delete(branch);
    this.#replies.delete(reply);
  }
}

/** The text that an agent has streamed since its last whole event. */
class StreamedText implements ReplyInProgress {
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
function hasText({ text }: Part): boolean {
  return text !== undefined && text !== '';
}
