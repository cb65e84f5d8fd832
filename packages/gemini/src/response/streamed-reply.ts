import { type LlmResponse, type Platform } from '@eventloom/core';
import { ResponseAggregator } from '@eventloom/core/internal';
import type { GenerateContentResponse } from '@google/genai';
import { withFinishError } from './finish-error.ts';
import { toLlmResponse } from './to-llm-response.ts';

/** A reply that is being streamed: its chunks, and then the response that merges them. */
export class StreamedReply {
  readonly #frames: AsyncIterator<GenerateContentResponse>;
  readonly #platform: Platform;
  readonly #aggregator = new ResponseAggregator();
  #responseId: string | undefined;
  #promptFeedback: GenerateContentResponse['promptFeedback'];
  #finishMessage: string | undefined;
  #answered = false;

  constructor(frames: AsyncIterator<GenerateContentResponse>, platform: Platform) {
    this.#frames = frames;
    this.#platform = platform;
  }

  /**
   * Returns the next chunk with new content; undefined at the end. Frames without new content (usage, an unfinished call, an empty
   * text) count only for the whole reply.
   */
  async next(): Promise<LlmResponse | undefined> {
    for (;;) {
      const { done, value } = await this.#frames.next();
      if (done) return undefined;
      const shown = this.#add(value);
      if (showsSomething(shown)) return shown;
    }
  }

  #add(frame: GenerateContentResponse): LlmResponse {
    const { candidates, promptFeedback } = frame;
    if (candidates?.length) this.#answered = true;
    if (promptFeedback?.blockReason !== undefined) this.#promptFeedback = promptFeedback;
    this.#finishMessage = candidates?.[0]?.finishMessage ?? this.#finishMessage;
    const chunk = toLlmResponse(frame);
    chunk.partial = true;
    // One id for the whole reply, because clients join its chunks by the id; ids of later frames are ignored.
    chunk.responseId = this.#responseId ??= chunk.responseId ?? this.#platform.newUuid();
    return this.#aggregator.add(chunk);
  }

  /** The names of the calls of which only pieces arrived. No chunk has them. */
  get incompleteCalls(): readonly string[] {
    return this.#aggregator.incompleteCalls;
  }

  /** Returns the whole reply. Call it after the last chunk. */
  finish(): LlmResponse {
    return withFinishError(this.#aggregator.finish(), {
      promptFeedback: this.#promptFeedback,
      finishMessage: this.#finishMessage,
      answered: this.#answered,
      stream: true,
    });
  }
}

function showsSomething({ content, alternatives }: LlmResponse): boolean {
  if (alternatives) return true;
  for (const part of content?.parts ?? []) if (part.text !== '') return true;
  return false;
}
