import {
  App,
  BasePlugin,
  type BaseTool,
  type Context,
  FunctionTool,
  LlmAgent,
  Runner,
  InMemorySessionService,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

/** Prevents writing tools from running, and records their calls. */
class ProposalPlugin extends BasePlugin {
  readonly proposals: { tool: string; args: Record<string, unknown> }[] = [];

  readonly writing: ReadonlySet<string>;

  constructor(writing: ReadonlySet<string>) {
    super('proposals');
    this.writing = writing;
  }

  override async beforeToolCallback({
    tool,
    toolArgs,
  }: {
    tool: BaseTool;
    toolArgs: Record<string, unknown>;
    toolContext: Context;
  }): Promise<Record<string, unknown> | undefined> {
    if (!this.writing.has(tool.name)) return undefined;
    this.proposals.push({ tool: tool.name, args: toolArgs });
    return { status: 'proposed' };
  }
}

const search = new FunctionTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string() }),
  execute: ({ query }: { query: string }) => JSON.stringify([{ sku: 'H-1', query }]),
});
const add = new FunctionTool({
  name: 'add',
  description: 'Adds.',
  parameters: z.object({ sku: z.string() }),
  execute: () => {
    throw new Error('the plugin should have answered');
  },
});
const plugin = new ProposalPlugin(new Set(['add']));
const rootAgent = new LlmAgent({
  name: 'shop',
  model: 'gemini-flash-latest',
  instruction: 'Help.',
  tools: [search, add],
});
const app = new App({ name: 'shop_app', rootAgent, plugins: [plugin] });

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'search', args: { query: 'hinge' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'add', args: { sku: 'H-1' } }] })),
    jsonReply(wireResponse('I have prepared it.')),
  ],
  async main(tell) {
    const runner = new Runner({ app, sessionService: new InMemorySessionService() });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: runner.appName, userId: 'ann' });
    const newMessage = createUserContent('Add a hinge.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) tell(event);
    tell(plugin.proposals);
  },
};
export default program;
