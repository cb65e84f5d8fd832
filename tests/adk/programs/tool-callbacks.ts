import { type BaseTool, type Context, FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const getCapital = new FunctionTool({
  name: 'get_capital',
  description: 'Returns the capital of a country.',
  parameters: z.object({ country: z.string() }),
  execute: ({ country }) => ({ result: country === 'France' ? 'Paris' : 'unknown' }),
});

type Before = { tool: BaseTool; args: Record<string, unknown>; context: Context };

const changeArgs = ({ tool, args, context }: Before): Record<string, unknown> | undefined => {
  context.state.set('called', `${context.agentName} ${tool.name}`);
  if (args['country'] === 'BLOCK') return { result: 'blocked' };
  if (args['country'] === 'Canada') args['country'] = 'France';
  return undefined;
};

const addNote = ({ response }: Before & { response: Record<string, unknown> }): Record<string, unknown> | undefined =>
  response['result'] === 'Paris' ? { ...response, note: 'changed by a callback' } : undefined;

const agent = new LlmAgent({
  name: 'helper',
  model: 'gemini-2.5-flash',
  instruction: 'Use get_capital.',
  tools: [getCapital],
  beforeToolCallback: changeArgs,
  afterToolCallback: addNote,
});

const program: Program = {
  replies: ['Canada', 'BLOCK'].flatMap((country) => [
    jsonReply(wireResponse({ calls: [{ name: 'get_capital', args: { country } }] })),
    jsonReply(wireResponse(`That was ${country}.`)),
  ]),
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'callbacks' });
    for (const sessionId of ['one', 'two']) {
      await runner.sessionService.createSession({ appName: 'callbacks', userId: 'ann', sessionId });
      const newMessage = createUserContent('The capital?');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId, newMessage })) {
        tell(event);
        tell({ final: isFinalResponse(event) });
      }
    }
  },
};
export default program;
