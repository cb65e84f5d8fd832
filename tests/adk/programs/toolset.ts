import {
  type BaseTool,
  BaseToolset,
  type Context,
  FunctionTool,
  InMemoryRunner,
  isFinalResponse,
  LlmAgent,
  type ReadonlyContext,
  stringifyContent,
} from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const numbers = z.object({ a: z.number(), b: z.number() });

function add(params: { a: number; b: number }, context?: Context): Record<string, unknown> {
  if (!context) throw new Error('there is no context');
  const sum = params.a + params.b;
  context.state.set('last_sum', sum);
  return { sum };
}

class MathToolset extends BaseToolset {
  private readonly tools: BaseTool[];

  constructor(prefix = '') {
    super([]);
    this.tools = [
      new FunctionTool({ name: `${prefix}add`, description: 'Adds.', parameters: numbers, execute: add }),
      new FunctionTool({
        name: `${prefix}subtract`,
        description: 'Subtracts.',
        parameters: numbers,
        execute: ({ a, b }) => ({ difference: a - b }),
      }),
    ];
  }

  override async getTools(_context?: ReadonlyContext): Promise<BaseTool[]> {
    return this.tools;
  }

  override async close(): Promise<void> {
    await Promise.resolve();
  }
}

const greet = new FunctionTool({
  name: 'greet',
  description: 'Greets.',
  parameters: z.object({ name: z.string() }),
  execute: ({ name }) => ({ greeting: `Hello, ${name}!` }),
});
const toolset = new MathToolset('calculator_');
const agent = new LlmAgent({
  name: 'calculator',
  model: 'gemini-2.5-flash',
  instruction: 'Calculate.',
  tools: [greet, toolset],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'calculator_add', args: { a: 5, b: 3 } }] })),
    jsonReply(wireResponse('8')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'math' });
    const session = await runner.sessionService.createSession({ appName: 'math', userId: 'ann' });
    const newMessage = createUserContent('5 + 3?');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
      tell(event);
      if (isFinalResponse(event)) tell(stringifyContent(event));
    }
    await toolset.close();
  },
};
export default program;
