import {
  BaseLlm,
  type BaseLlmConnection,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  type SingleBeforeModelCallback,
} from '@google/adk';
import { type ContentUnion, createUserContent, type GenerateContentConfig, GoogleGenAI } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

/** A model that calls the service with the options of the request. */
class Direct extends BaseLlm {
  readonly ai = new GoogleGenAI({ apiKey: 'key' });

  override async *generateContentAsync({ contents, config }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const cold: GenerateContentConfig = { ...config, temperature: 0 };
    const { candidates = [], usageMetadata } = await this.ai.models.generateContent({
      model: this.model,
      contents,
      config: config ?? {},
    });
    const content = candidates[0]?.content;
    const customMetadata = { temperature: cold.temperature };
    yield { ...(content && { content }), ...(usageMetadata && { usageMetadata }), customMetadata };
  }

  override async connect(): Promise<BaseLlmConnection> {
    throw new Error('not live');
  }
}

const lengthOf = (text: ContentUnion | undefined): number => (typeof text === 'string' ? text.length : 0);

const program: Program = {
  replies: [jsonReply(wireResponse('It is sunny.'))],
  async main(tell) {
    const check: SingleBeforeModelCallback = ({ request }) => {
      tell(lengthOf(request.config?.systemInstruction) > 0 ? 'has an instruction' : 'has none');
      return undefined;
    };
    const model = new Direct({ model: 'gemini-2.5-flash' });
    const agent = new LlmAgent({ name: 'guide', model, instruction: 'Be brief.', beforeModelCallback: check });
    const runner = new InMemoryRunner({ agent, appName: 'weather' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'weather', userId: 'ann' });
    const newMessage = createUserContent('How is the weather?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
  },
};
export default program;
