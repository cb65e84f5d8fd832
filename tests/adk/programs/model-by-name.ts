import {
  BaseAgent,
  BaseLlm,
  type BaseLlmConnection,
  createEvent,
  type Event,
  type InvocationContext,
  LLMRegistry,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

/** A model that repeats the last message. Its pattern must match the whole name. */
class Echo extends BaseLlm {
  static override readonly supportedModels = [/echo-1|echo-2/];

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void, void> {
    const text = contents.findLast(({ role }) => role === 'user')?.parts?.[0]?.text ?? '';
    yield { content: { role: 'model', parts: [{ text: `${this.model} heard: ${text}` }] } };
  }

  override connect(): Promise<BaseLlmConnection> {
    throw new Error(`${this.model} has no live connection`);
  }
}
LLMRegistry.register(Echo);

/** An agent that calls a model without an LlmAgent. */
class Caller extends BaseAgent {
  readonly model: string;

  constructor(model: string) {
    super({ name: 'caller' });
    this.model = model;
  }

  protected override async *runAsyncImpl({
    invocationId,
    branch,
    userContent,
  }: InvocationContext): AsyncGenerator<Event, void, void> {
    const request: LlmRequest = {
      model: this.model,
      contents: userContent ? [userContent] : [],
      config: { systemInstruction: 'Repeat.' },
      liveConnectConfig: {},
      toolsDict: {},
    };
    const llm = LLMRegistry.newLlm(this.model);
    for await (const response of llm.generateContentAsync(request)) {
      yield createEvent({ ...response, invocationId, author: this.name, ...(branch && { branch }) });
    }
  }

  protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {}
}

const program: Program = {
  replies: [],
  async main(tell) {
    await converse(tell, new Caller('echo-2'), ['Hello.']);
    try {
      LLMRegistry.newLlm('echo-20');
      tell('echo-20 was found');
    } catch {
      tell('echo-20 was not found');
    }
  },
};
export default program;
