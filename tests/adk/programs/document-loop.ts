import { type Context, FunctionTool, InMemoryRunner, LlmAgent, LoopAgent, SequentialAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';

const exitLoop = new FunctionTool({
  name: 'exit_loop',
  description: 'Call this only when no change is needed.',
  parameters: z.object({}),
  execute: (_input: object, toolContext?: Context) => {
    if (toolContext) toolContext.actions.escalate = true;
    return {};
  },
});

const writer = new LlmAgent({ name: 'Writer', model, instruction: 'Write about {topic}.', outputKey: 'document' });
const critic = new LlmAgent({
  name: 'Critic',
  model,
  includeContents: 'none',
  instruction: 'Review: {document}',
  outputKey: 'criticism',
});
const refiner = new LlmAgent({
  name: 'Refiner',
  model,
  includeContents: 'none',
  instruction: 'Improve {document} by {criticism}, or call exit_loop.',
  tools: [exitLoop],
  outputKey: 'document',
});
const refining = new LoopAgent({ name: 'Refining', subAgents: [critic, refiner], maxIterations: 5 });
const agent = new SequentialAgent({ name: 'Pipeline', subAgents: [writer, refining] });

const program: Program = {
  replies: [
    jsonReply(wireResponse('A cat.')),
    jsonReply(wireResponse('Say its colour.')),
    jsonReply(wireResponse('A black cat.')),
    jsonReply(wireResponse('No major issues.')),
    jsonReply(wireResponse({ calls: [{ name: 'exit_loop', args: {} }] })),
    jsonReply(wireResponse('Done.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'documents' });
    const state = { topic: 'a cat' };
    const session = await runner.sessionService.createSession({ appName: 'documents', userId: 'ann', state });
    const newMessage = createUserContent('Begin.');
    for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) tell(event);
  },
};
export default program;
