import type { Content, Part } from '../content/content.ts';
import type { LlmResponse } from './llm-response.ts';
import { StreamedCalls } from './streamed-calls.ts';

/**
 * Merges the chunks of one streamed reply into the whole: text of the same kind is joined, thoughts stay apart from the answer
 * and in front of where they came, calls keep their order, and of everything else the last chunk that has it wins.
 */
export class ResponseAggregator {
  readonly #parts: Part[] = [];
  readonly #calls = new StreamedCalls();
  readonly #last: LlmResponse = {};
  #text = '';
  #open: Part | undefined;
  #role: string | undefined;
  #chunks = 0;

  /** Number of chunks so far. */
  get chunks(): number {
    return this.#chunks;
  }

  /** Takes the next chunk. */
  add(chunk: LlmResponse): void {
    this.#chunks++;
    for (const key in chunk) {
      if (key === 'content' || key === 'partial') continue;
      const value = chunk[key as keyof LlmResponse];
      if (value !== undefined) (this.#last as Record<string, unknown>)[key] = value;
    }
    const { content } = chunk;
    if (!content) return;
    this.#role ??= content.role;
    if (content.parts) for (const part of content.parts) this.#addPart(part);
  }

  #addPart(part: Part): void {
    if (part.functionCall) {
      const whole = this.#calls.add(part);
      if (whole) {
        this.#closeText();
        this.#parts.push(whole);
      }
      return;
    }
    // A part with a signature goes back to the model as it came, so nothing is merged into it.
    if (part.text === undefined || hasMoreThanText(part)) {
      this.#closeText();
      this.#parts.push(part);
      return;
    }
    if (this.#open && (this.#open.thought === true) !== (part.thought === true)) this.#closeText();
    if (part.text === '') return;
    this.#open ??= part.thought === true ? { text: '', thought: true } : { text: '' };
    this.#text += part.text;
  }

  #closeText(): void {
    if (!this.#open) return;
    this.#open.text = this.#text;
    this.#parts.push(this.#open);
    this.#open = undefined;
    this.#text = '';
  }

  /** The whole reply. Calls whose arguments were still being streamed are left out: they are not to be run. */
  finish(): LlmResponse {
    this.#closeText();
    const content: Content = { role: this.#role ?? 'model', parts: this.#parts };
    return this.#parts.length > 0 ? { ...this.#last, content } : { ...this.#last };
  }

  /** What was received of a reply that broke off: everything but calls. */
  finishBroken(): LlmResponse {
    const { content, ...rest } = this.finish();
    const parts = content?.parts?.filter((part) => !part.functionCall);
    return parts?.length ? { ...rest, content: { ...content, parts } } : rest;
  }
}

function hasMoreThanText(part: Part): boolean {
  for (const key in part) {
    if (key !== 'text' && key !== 'thought' && part[key as keyof Part] !== undefined) return true;
  }
  return false;
}
