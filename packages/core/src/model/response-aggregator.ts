import { callsToRun, type Content, type Part } from '../content/content.ts';
import type { AlternativeResponse, LlmResponse } from './llm-response.ts';
import { StreamedCalls } from './streamed-calls.ts';

/**
 * Merges the chunks of one streamed reply into one response. Joins adjacent text of the same kind, keeps thoughts apart from the
 * answer, keeps the order of calls, and merges each alternative separately. For all other fields the last chunk with the field
 * wins.
 */
export class ResponseAggregator {
  readonly #parts: Part[] = [];
  readonly #calls = new StreamedCalls();
  readonly #last: LlmResponse = {};
  #alternatives: Map<number, ResponseAggregator> | undefined;
  #text = '';
  #open: Part | undefined;
  #role: string | undefined;

  /**
   * Adds the next chunk and returns the chunk to show: without pieces of a call, and with the call in the chunk that completes it.
   */
  add(chunk: LlmResponse): LlmResponse {
    for (const key in chunk) {
      if (key === 'content' || key === 'partial' || key === 'alternatives') continue;
      const value = chunk[key as keyof LlmResponse];
      if (value !== undefined) (this.#last as Record<string, unknown>)[key] = value;
    }
    if (chunk.alternatives) this.#addAlternatives(chunk.alternatives);
    const { content } = chunk;
    if (!content) return chunk;
    this.#role ??= content.role;
    const { parts } = content;
    if (!parts) return chunk;
    let shown: Part[] | undefined;
    let seen = 0;
    for (const part of parts) {
      const whole = part.functionCall ? this.#calls.add(part) : part;
      if (whole !== part) shown ??= parts.slice(0, seen);
      seen++;
      if (!whole) continue;
      this.#addPart(whole);
      shown?.push(whole);
    }
    return shown ? { ...chunk, content: { ...content, parts: shown } } : chunk;
  }

  #addPart(part: Part): void {
    // The model needs a part with a signature back unchanged, so nothing is merged into it.
    if (part.text === undefined || hasMoreThanText(part)) {
      this.#closeText();
      this.#parts.push(part);
      return;
    }
    if (part.text === '') return;
    if (this.#open && (this.#open.thought === true) !== (part.thought === true)) this.#closeText();
    this.#open ??= part.thought === true ? { text: '', thought: true } : { text: '' };
    this.#text += part.text;
  }

  #addAlternatives(alternatives: readonly AlternativeResponse[]): void {
    this.#alternatives ??= new Map();
    for (const { index, ...chunk } of alternatives) {
      const gathered = this.#alternatives.get(index) ?? new ResponseAggregator();
      this.#alternatives.set(index, gathered);
      gathered.add(chunk);
    }
  }

  #closeText(): void {
    if (!this.#open) return;
    this.#open.text = this.#text;
    this.#parts.push(this.#open);
    this.#open = undefined;
    this.#text = '';
  }

  /**
   * Returns the whole reply. If one of its calls is incomplete, all calls are left out, so that none is run, and the
   * reply has an error code.
   */
  finish(): LlmResponse {
    const { incompleteCalls } = this;
    return incompleteCalls.length > 0 ? withoutCalls(this.#merged(), incompleteCalls) : this.#merged();
  }

  #merged(): LlmResponse {
    this.#closeText();
    const whole: LlmResponse = { ...this.#last };
    if (this.#parts.length > 0) whole.content = { role: this.#role ?? 'model', parts: this.#parts };
    if (this.#alternatives) whole.alternatives = Array.from(this.#alternatives, finishAlternative);
    return whole;
  }

  /** The names of the calls of which only pieces arrived. */
  get incompleteCalls(): readonly string[] {
    return this.#calls.incomplete;
  }

  /** Returns the received part of a reply that was interrupted, without calls. If it had calls, the reply has an error that names them. */
  finishBroken(): LlmResponse {
    const whole = this.#merged();
    const names = callsToRun(whole.content?.parts).map(({ name = '' }) => name);
    const lost = [...names, ...this.incompleteCalls];
    return lost.length > 0 ? withoutCalls(whole, lost) : contentWithoutCalls(whole);
  }
}

/** The error code of a reply that ended before all of its calls were complete. */
export const INCOMPLETE_CALL = 'INCOMPLETE_CALL';
const NO_CALL_WAS_RUN = 'none of its calls was run';

/**
 * Returns the received part of a reply that ended too early, as an error. It names the calls of the reply; none of them may be run.
 * @param names the functions that the incomplete calls name
 */
export function withoutCalls(reply: LlmResponse, names: readonly string[]): LlmResponse {
  const rest = contentWithoutCalls(reply);
  const { errorCode = INCOMPLETE_CALL, errorMessage } = rest;
  return {
    ...rest,
    errorCode,
    errorMessage: errorMessage === undefined ? lostCallsMessage(names) : `${errorMessage}; ${NO_CALL_WAS_RUN}`,
  };
}

/** Returns the error message of a reply that ended inside or after calls of these functions. */
export function lostCallsMessage(names: readonly string[]): string {
  const calls = names.map((name) => JSON.stringify(name)).join(', ');
  return `the reply ended before its call of ${calls} was complete; ${NO_CALL_WAS_RUN}`;
}

/** Returns true for the error message of a reply whose calls were not run, whatever the error's code. The model has to read it. */
export function reportsLostCalls(errorMessage: string | undefined): boolean {
  return errorMessage?.endsWith(NO_CALL_WAS_RUN) ?? false;
}

function contentWithoutCalls({ content, ...rest }: LlmResponse): LlmResponse {
  const parts = content?.parts?.filter((part) => !part.functionCall);
  return parts?.length ? { ...rest, content: { ...content, parts } satisfies Content } : rest;
}

function finishAlternative([index, gathered]: readonly [number, ResponseAggregator]): AlternativeResponse {
  const { content, finishReason } = gathered.finish();
  return { index, ...(content && { content }), ...(finishReason !== undefined && { finishReason }) };
}

/** Returns true if a part has more than its text and the mark of a thought, such as a signature or a call. */
export function hasMoreThanText(part: Part): boolean {
  for (const key in part) {
    if (key === 'text' || key === 'thought') continue;
    const value = part[key as keyof Part];
    // Some services send an empty signature, which has no meaning.
    if (value !== undefined && !(key === 'thoughtSignature' && value === '')) return true;
  }
  return false;
}
