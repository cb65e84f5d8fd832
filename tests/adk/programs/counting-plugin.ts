import {
  App,
  BasePlugin,
  type BaseTool,
  type Context,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

class CountingPlugin extends BasePlugin {
  readonly counts: string[] = [];

  override async beforeModelCallback({
    llmRequest,
  }: {
    callbackContext: Context;
    llmRequest: LlmRequest;
  }): Promise<undefined> {
    this.counts.push(`model ${llmRequest.contents.length}`);
  }

  override async beforeToolCallback({
    tool,
  }: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
  }): Promise<undefined> {
    this.counts.push(`tool ${tool.name}`);
  }

  override async afterRunCallback(): Promise<void> {
    this.counts.push('end');
  }
}

const now = new FunctionTool({
  name: 'now',
  description: 'Tells the time.',
  parameters: z.object({}),
  execute: () => ({ time: 'noon' }),
});
const plugin = new CountingPlugin('counting');
const rootAgent = new LlmAgent({
  name: 'clock',
  model: 'gemini-2.5-flash',
  instruction: 'Tell the time.',
  tools: [now],
});
const app = new App({ name: 'clocks', rootAgent, plugins: [plugin] });

const program: Program = {
  replies: [jsonReply(wireResponse({ calls: [{ name: 'now', args: {} }] })), jsonReply(wireResponse('Noon.'))],
  async main(tell) {
    const runner = new InMemoryRunner({ app });
    const session = await runner.sessionService.createSession({ appName: 'clocks', userId: 'ann' });
    const newMessage = createUserContent('What time is it?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
    tell(plugin.counts);
  },
};
export default program;
