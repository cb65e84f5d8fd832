import { BaseLlm, type Content, type FunctionCall, type LlmRequest, type LlmResponse } from 'eventloom';

/** A model for programs without a key: a function of the newest content is its reply. */
export class RuleModel extends BaseLlm {
  readonly #reply: (newest: Content) => string | FunctionCall;

  constructor(reply: (newest: Content) => string | FunctionCall) {
    super({ model: 'rules' });
    this.#reply = reply;
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const reply = this.#reply(contents.at(-1) ?? {});
    const part = typeof reply === 'string' ? { text: reply } : { functionCall: reply };
    yield { content: { role: 'model', parts: [part] } };
  }
}
