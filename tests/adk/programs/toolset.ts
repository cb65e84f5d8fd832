import { type BaseTool, BaseToolset, FunctionTool, InMemoryRunner, LlmAgent, type ReadonlyContext } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const numbers = z.object({ a: z.number(), b: z.number() });

class MathToolset extends BaseToolset {
  constructor(prefix: string) {
    super([], prefix);
  }

  override async getTools(_context?: ReadonlyContext): Promise<BaseTool[]> {
    return [
      new FunctionTool({
        name: 'add',
        description: 'Adds.',
        parameters: numbers,
        execute: ({ a, b }) => ({ sum: a + b }),
      }),
    ];
  }

  override async close(): Promise<void> {
    await Promise.resolve();
  }
}

const agent = new LlmAgent({
  name: 'calculator',
  model: 'gemini-2.5-flash',
  instruction: 'Calculate.',
  tools: [new MathToolset('')],
});

const program: Program = {
  replies: [jsonReply(wireResponse({ calls: [{ name: 'add', args: { a: 5, b: 3 } }] })), jsonReply(wireResponse('8'))],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'math' });
    const session = await runner.sessionService.createSession({ appName: 'math', userId: 'ann' });
    const newMessage = createUserContent('5 + 3?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
  },
};
export default program;
