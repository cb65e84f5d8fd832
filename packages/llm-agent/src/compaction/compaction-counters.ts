import type { Event } from '@eventloom/core';
import { enclosureOf } from '@eventloom/core/internal';
import { rewritesHistory } from '../contents/event-content.ts';
import { effectiveHistory } from './effective-history.ts';

/** Estimated characters per token, for text whose tokens no model reported. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Counts invocations and tokens of the events that no summary covers. Each event is counted once, so the cost of a decision grows with the
 * new events and not with the history.
 */
export class CompactionCounters {
  #seen = 0;
  #invocations = new Set<string>();
  #promptTokens: number | undefined;
  #characters = 0;

  /** Counts the new events. The list must begin with the events of the previous call. */
  update(events: readonly Event[]): void {
    const added = events.slice(this.#seen);
    if (added.some(({ actions }) => rewritesHistory(actions))) this.#recount(events);
    else for (const event of added) this.#add(event, true);
    this.#seen = events.length;
  }

  /** Number of invocations that no summary covers. */
  get invocations(): number {
    return this.#invocations.size;
  }

  /** Tokens of the last model request since the last summary; an estimate if no model reported tokens. */
  get tokens(): number {
    return this.#promptTokens ?? Math.ceil(this.#characters / CHARACTERS_PER_TOKEN);
  }

  #recount(events: readonly Event[]): void {
    this.#invocations = new Set();
    this.#promptTokens = undefined;
    this.#characters = 0;
    const { uncovered, summaries } = effectiveHistory(events);
    let last = -1;
    for (const { index, compactedContent } of summaries) {
      last = Math.max(last, index);
      this.#characters += charactersOf(compactedContent.parts);
    }
    // Token counts from before the last summary do not describe the requests that are sent now.
    for (const index of uncovered) this.#add(events[index] as Event, index > last);
  }

  #add({ branch, invocationId, usageMetadata, content, partial }: Event, tellsTokens: boolean): void {
    if (partial === true || enclosureOf(branch) !== '') return;
    this.#invocations.add(invocationId);
    const tokens = usageMetadata?.promptTokenCount;
    if (tellsTokens && tokens !== undefined) this.#promptTokens = tokens;
    if (this.#promptTokens === undefined) this.#characters += charactersOf(content?.parts);
  }
}

function charactersOf(parts: readonly object[] = []): number {
  let count = 0;
  for (const part of parts as readonly { text?: string; functionCall?: object; functionResponse?: object }[]) {
    const { text, functionCall, functionResponse } = part;
    if (text !== undefined) count += text.length;
    else if (functionCall ?? functionResponse) count += JSON.stringify(functionCall ?? functionResponse).length;
  }
  return count;
}
