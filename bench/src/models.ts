import { BaseLlm, type LlmRequest, type LlmResponse } from '@eventloom/core';

const ANSWER: LlmResponse = {
  content: { role: 'model', parts: [{ text: 'The answer is 42.' }] },
  finishReason: 'STOP',
};

/** A model that answers at once with the same text. */
export class InstantModel extends BaseLlm {
  constructor() {
    super({ model: 'instant' });
  }

  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    yield ANSWER;
  }
}

/** A model that makes a number of consecutive tool calls, and then answers. */
export class ToolCallingModel extends BaseLlm {
  readonly #rounds: number;
  readonly #callsPerRound: number;

  constructor(rounds: number, callsPerRound = 1) {
    super({ model: 'tool-calling' });
    this.#rounds = rounds;
    this.#callsPerRound = callsPerRound;
  }

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    yield this.answer(request.contents);
  }

  /**
   * Returns the reply to these contents. Counts responses from the end, so that the cost depends on the turn and not on
   * the history.
   */
  answer(contents: LlmRequest['contents']): LlmResponse {
    let done = 0;
    for (let index = contents.length - 1; index >= 0; index -= 2) {
      if (!contents[index]?.parts?.[0]?.functionResponse) break;
      done++;
    }
    if (done >= this.#rounds) return ANSWER;
    const parts = Array.from({ length: this.#callsPerRound }, (_, index) => ({
      functionCall: { id: `call-${done}-${index}`, name: 'add', args: { a: done, b: index } },
    }));
    return { content: { role: 'model', parts } };
  }
}

/** A model that streams a reply of equal chunks and then the whole reply. */
export class ChunkModel extends BaseLlm {
  readonly #chunks: number;

  constructor(chunks: number) {
    super({ model: 'chunks' });
    this.#chunks = chunks;
  }

  override async *generateContentAsync(_request: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    for (let index = 0; index < this.#chunks; index++) {
      yield { content: { role: 'model', parts: [{ text: 'word ' }] }, partial: true };
    }
    yield { content: { role: 'model', parts: [{ text: 'word '.repeat(this.#chunks) }] }, finishReason: 'STOP' };
  }
}
