import { BaseLlm, contentText, type LlmRequest, type LlmResponse, ModelError } from 'eventloom';

/** A model of any service that speaks OpenAI's chat protocol. For text only: it ignores tools. */
export class ChatModel extends BaseLlm {
  readonly #url: string;

  constructor({ model, url }: { readonly model: string; readonly url: string }) {
    super({ model });
    this.#url = url;
  }

  override async *generateContentAsync(
    { contents, config }: LlmRequest,
    _stream?: boolean,
    signal: AbortSignal | null = null,
  ): AsyncGenerator<LlmResponse, void, void> {
    const said = contents.map((content) => ({
      role: content.role === 'model' ? 'assistant' : 'user',
      content: contentText(content),
    }));
    const messages = [{ role: 'system', content: config.systemInstruction ?? '' }, ...said];
    const body = JSON.stringify({ model: this.model, messages });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${this.#url}/chat/completions`, { method: 'POST', headers, body, signal });
    if (!response.ok) throw new ModelError(await response.text(), { errorCode: String(response.status) });
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    yield { content: { role: 'model', parts: [{ text: choices[0]?.message.content ?? '' }] } };
  }
}
