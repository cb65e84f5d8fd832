import {
  type BaseTool,
  type Context,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
} from '@google/adk';
import type { Content } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program, Tell } from '../stage.ts';

type ToolStep = { tool: BaseTool; args: Record<string, unknown>; context: Context };

/** Callbacks that report each step of an agent, in the form in which an observability library adds them. */
function reportingCallbacks(tell: Tell) {
  const report = (text: string): undefined => {
    tell(text);
    return undefined;
  };
  return {
    beforeAgentCallback: (context: Context): Content | undefined => report(`agent ${context.agentName} begins`),
    afterAgentCallback: (context: Context): Content | undefined => report(`agent ${context.agentName} ends`),
    beforeModelCallback: ({ request }: { context: Context; request: LlmRequest }): LlmResponse | undefined =>
      report(`model ${request.model} reads ${request.contents.length}`),
    afterModelCallback: ({ response }: { context: Context; response: LlmResponse }): LlmResponse | undefined =>
      report(`model answers ${response.content?.parts?.length}`),
    beforeToolCallback: ({ tool, args }: ToolStep): Record<string, unknown> | undefined =>
      report(`tool ${tool.name} reads ${JSON.stringify(args)}`),
    afterToolCallback: ({ tool }: ToolStep): Record<string, unknown> | undefined => report(`tool ${tool.name} ends`),
  };
}

/** Returns a runner that reports the begin and the end of its runs. */
function instrument(runner: InMemoryRunner, tell: Tell): InMemoryRunner {
  return new Proxy(runner, {
    get(target, key, receiver) {
      const value: unknown = Reflect.get(target, key, receiver);
      if (key !== 'runEphemeral' && key !== 'runAsync') return value;
      return async function* (params: { userId: string; newMessage: Content }) {
        tell(`${key} begins`);
        yield* Reflect.apply(value as typeof target.runEphemeral, receiver, [params]);
        tell(`${key} ends`);
      };
    },
  });
}

const lookUp = new FunctionTool({
  name: 'look_up',
  description: 'Looks a word up.',
  parameters: z.object({ word: z.string() }),
  execute: ({ word }) => ({ word, meaning: 'a small boat' }),
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'lexicographer' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'look_up', args: { word: 'skiff' } }] })),
    jsonReply(wireResponse('A small boat.')),
  ],
  async main(tell) {
    const callbacks = reportingCallbacks(tell);
    const model = 'gemini-flash-latest';
    const specialist = new LlmAgent({
      name: 'lexicographer',
      model,
      description: 'Explains words.',
      tools: [lookUp],
      ...callbacks,
    });
    const agent = new LlmAgent({ name: 'front', model, subAgents: [specialist], ...callbacks });
    const runner = instrument(new InMemoryRunner({ agent, appName: 'words' }), tell);
    const newMessage = { parts: [{ text: 'What is a skiff?' }] };
    for await (const event of runner.runEphemeral({ userId: 'ann', newMessage })) tell(event);
  },
};
export default program;
