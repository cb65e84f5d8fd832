import { App, type BaseAgent, BasePlugin, type Context, InMemoryRunner, LlmAgent, type LlmRequest } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import type { Program } from '../stage.ts';

class Meter extends BasePlugin {
  agents = 0;

  requests = 0;

  constructor() {
    super('meter');
  }

  override async beforeAgentCallback(_params: { agent: BaseAgent; callbackContext: Context }): Promise<undefined> {
    this.agents += 1;
  }

  override async beforeModelCallback(_params: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<undefined> {
    this.requests += 1;
  }
}

const meter = new Meter();
const rootAgent = new LlmAgent({ name: 'concierge', model: 'gemini-flash-latest', instruction: 'Greet.\n' });
const app = new App({ name: 'hotel', rootAgent, plugins: [meter] });

const program: Program = {
  replies: [jsonReply(wireResponse('Good morning.')), jsonReply(wireResponse('With pleasure.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ app });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: runner.appName, userId: 'ann' });
    for (const text of ['Hello.', 'Plan a trip.'])
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage: createUserContent(text) }))
        tell(event);
    tell({ agents: meter.agents, requests: meter.requests });
  },
};
export default program;
