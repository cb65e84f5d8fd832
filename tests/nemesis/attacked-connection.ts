import {
  type BaseLlm,
  type BaseLlmConnection,
  type Content,
  type FunctionResponse,
  LiveConnectionError,
  type LiveLlmResponse,
  type LlmRequest,
} from '@eventloom/core';

/** A live connection whose model replies as in text runs, one turn after the other. */
export class AttackedConnection implements BaseLlmConnection {
  readonly #model: BaseLlm;
  readonly #request: LlmRequest;
  readonly #contents: Content[] = [];
  /** Contents that the user sent during a turn; the model takes one when it has finished the turn. */
  readonly #said: Content[] = [];
  /** The calls of the last reply, with their responses so far. */
  readonly #calls = new Map<string, FunctionResponse | undefined>();
  /** True if the contents end with a message or a response to reply to. */
  #isToReply = false;
  #isClosed = false;
  #arrival = Promise.withResolvers<void>();

  constructor(model: BaseLlm, request: LlmRequest) {
    this.#model = model;
    this.#request = request;
  }

  async sendHistory(history: readonly Content[], isWaiting = false): Promise<void> {
    this.#contents.push(...history);
    const last = history.at(-1);
    this.#expectResponses(last?.role === 'model' ? last : {});
    this.#isToReply = last?.role === 'user' && !isWaiting;
    this.#wake();
  }

  async sendContent(content: Content): Promise<void> {
    this.#checkOpen();
    this.#said.push(content);
    this.#wake();
  }

  async sendToolResponses(responses: readonly FunctionResponse[]): Promise<void> {
    this.#checkOpen();
    for (const response of responses) this.#calls.set(response.id ?? '', response);
    const given = Array.from(this.#calls.values());
    if (given.includes(undefined)) return;
    this.#calls.clear();
    const parts = given.flatMap((functionResponse) => (functionResponse ? { functionResponse } : []));
    this.#contents.push({ role: 'user', parts });
    this.#isToReply = true;
    this.#wake();
  }

  async sendRealtime(): Promise<void> {}

  async sendActivityStart(): Promise<void> {}

  async sendActivityEnd(): Promise<void> {}

  async *receive(): AsyncGenerator<LiveLlmResponse, void, void> {
    while (!this.#isClosed) {
      if (this.#calls.size > 0 || !this.#takeTurn()) {
        await this.#arrival.promise;
        continue;
      }
      for await (const response of this.#model.generateContentAsync({ ...this.#request, contents: this.#contents })) {
        if (this.#isClosed) return;
        const { content = {}, partial } = response;
        const hasCalls = this.#expectResponses(content);
        if (partial !== true) this.#contents.push(content);
        // The text arrives only in chunks.
        if (partial === true || hasCalls) yield { content };
        else yield { turnComplete: true };
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
  }

  /** Returns false if there is nothing to reply to. */
  #takeTurn(): boolean {
    const said = this.#isToReply ? undefined : this.#said.shift();
    if (said) this.#contents.push(said);
    else if (!this.#isToReply) return false;
    this.#isToReply = false;
    return true;
  }

  /** Returns true for a reply with calls: the next one waits for their responses. */
  #expectResponses({ parts = [] }: Content): boolean {
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
    for (const { id = '' } of calls) this.#calls.set(id, undefined);
    return calls.length > 0;
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new LiveConnectionError('the connection is closed', { isRetryable: false });
  }

  #wake(): void {
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }
}
