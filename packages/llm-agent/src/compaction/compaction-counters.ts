import type { Event } from '@eventloom/core';
import { enclosureOf } from '@eventloom/core/internal';
import { effectiveHistory, rewritesHistory } from './effective-history.ts';

/** Of a text that no model counted. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * Counts the events that no summary covers, event by event, so that deciding about a compaction costs the events of a
 * run and not the history.
 */
export class CompactionCounters {
  #seen = 0;
  #invocations = new Set<string>();
  #promptTokens: number | undefined;
  #characters = 0;

  /** Brings the counters up to these events, of which the ones seen before are a prefix. */
  update(events: readonly Event[]): void {
    const added = events.slice(this.#seen);
    if (added.some(rewritesHistory)) this.#recount(events);
    else for (const event of added) this.#add(event, true);
    this.#seen = events.length;
  }

  /** Invocations of which no summary tells. */
  get invocations(): number {
    return this.#invocations.size;
  }

  /** Tokens of the last model request since the last summary; an estimate where no model told. */
  get tokens(): number {
    return this.#promptTokens ?? Math.ceil(this.#characters / CHARACTERS_PER_TOKEN);
  }

  #recount(events: readonly Event[]): void {
    this.#invocations = new Set();
    this.#promptTokens = undefined;
    this.#characters = 0;
    const { uncovered, summaries } = effectiveHistory(events);
    let last = -1;
    for (const { position, compactedContent } of summaries) {
      last = Math.max(last, position);
      this.#characters += charactersOf(compactedContent.parts);
    }
    // What a model counted before the last summary was made says nothing of what it is sent now.
    for (const position of uncovered) this.#add(events[position] as Event, position > last);
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
