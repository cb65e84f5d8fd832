import { BaseLlm, type LlmRequest, type LlmResponse, type Part } from '@eventloom/core';

/** Answers every message like a model that first calls the tool that rolls the die. */
export class DiceModel extends BaseLlm {
  constructor() {
    super({ model: 'dice' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const isRolled = contents.at(-1)?.parts?.[0]?.functionResponse !== undefined;
    const part: Part = isRolled ? { text: 'There it is.' } : { functionCall: { name: 'roll_die', args: {} } };
    yield { content: { role: 'model', parts: [part] } };
  }
}
