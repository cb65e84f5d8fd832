import type { Content, FunctionResponse } from '@eventloom/core';
import { withoutClientId } from '@eventloom/llm-agent/internal';

/** The responses to calls that a history tells of. One may have come just when the history was made, and not be in it. */
export class ToldResponses {
  readonly #counts = new Map<string, number>();

  constructor(history: readonly Content[]) {
    for (const { functionResponse } of history.flatMap(({ parts = [] }) => parts)) {
      if (!functionResponse) continue;
      const key = keyOf(functionResponse);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  /** True for a response that the history has; once for each of its responses. */
  take(functionResponse: FunctionResponse): boolean {
    const key = keyOf(withoutClientId({ functionResponse }).functionResponse ?? functionResponse);
    const left = this.#counts.get(key) ?? 0;
    if (left > 0) this.#counts.set(key, left - 1);
    return left > 0;
  }
}

function keyOf({ id, name, response }: FunctionResponse): string {
  return JSON.stringify([id, name, response]);
}
