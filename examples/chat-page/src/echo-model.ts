import { BaseLlm, contentText, type LlmRequest, type LlmResponse } from 'eventloom';

/** A model for programs without a key: it repeats the last message, word by word. */
export class EchoModel extends BaseLlm {
  constructor() {
    super({ model: 'echo' });
  }

  override async *generateContentAsync(
    { contents }: LlmRequest,
    stream?: boolean,
  ): AsyncGenerator<LlmResponse, void, void> {
    const text = `You said: ${contentText(contents.at(-1))}`;
    if (stream) {
      for (const word of text.split(/(?<= )/))
        yield { content: { role: 'model', parts: [{ text: word }] }, partial: true };
    }
    yield { content: { role: 'model', parts: [{ text }] } };
  }
}
