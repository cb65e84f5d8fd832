import {
  BaseLlm,
  type BaseLlmConnection,
  InMemoryRunner,
  LlmAgent,
  LLMRegistry,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import type { Program } from '../stage.ts';

class EchoModel extends BaseLlm {
  static override readonly supportedModels: Array<string | RegExp> = [/echo-.*/];

  override async *generateContentAsync(request: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const text = request.contents.at(-1)?.parts?.[0]?.text ?? '';
    yield { content: { role: 'model', parts: [{ text: `${this.model}: ${text}` }] } };
  }

  override async connect(): Promise<BaseLlmConnection> {
    throw new Error('no live connections');
  }
}
LLMRegistry.register(EchoModel);

const agent = new LlmAgent({ name: 'echo', model: 'echo-1', instruction: 'Echo.' });

const program: Program = {
  replies: [],
  async main(tell) {
    const runner = new InMemoryRunner({ agent });
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage: { parts: [{ text: 'Hello!' }] } }))
      tell(event);
  },
};
export default program;
