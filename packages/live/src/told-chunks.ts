import type { FunctionResponse } from '@eventloom/core';

type Response = NonNullable<FunctionResponse['response']>;

/** What a tool passed on and the model was told as it came. The tool's response holds it once more, put together. */
export class ToldChunks {
  readonly #chunks: unknown[] = [];

  add(chunk: unknown): void {
    this.#chunks.push(chunk);
  }

  /** What a response says beside the chunks, undefined when that is nothing: a failure without its output, a result of the tool's own. */
  newsOf(response: Response): Response | undefined {
    if ('error' in response) {
      const { output, ...failure } = response;
      return this.#isTold(output) ? failure : response;
    }
    const isResult = Object.keys(response).length === 1 && 'result' in response;
    return isResult && this.#isTold(response['result']) ? undefined : response;
  }

  /** As a streaming tool puts its chunks together: texts as one text, others as a list, null or nothing where there are none. */
  #isTold(value: unknown): boolean {
    const chunks = this.#chunks;
    if (value === undefined || value === null) return chunks.length === 0;
    if (typeof value === 'string') return chunks.length > 0 && chunks.every(isText) && chunks.join('') === value;
    return Array.isArray(value) && value.length === chunks.length && JSON.stringify(value) === JSON.stringify(chunks);
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string';
}
