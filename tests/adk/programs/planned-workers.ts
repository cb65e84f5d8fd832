import {
  type Context,
  FunctionTool,
  LlmAgent,
  ParallelAgent,
  type ReadonlyContext,
  SequentialAgent,
} from '@google/adk';
import type { Content } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';

/** Skips an agent that is not in the plan. */
function onlyIfPlanned(name: string) {
  return ({ state }: Context): Content | undefined => {
    const planned = state.get('plan') as string[];
    return planned.includes(name) ? undefined : { parts: [{ text: `${name} is not needed.` }] };
  };
}

const worker = (name: string) =>
  new LlmAgent({
    name,
    model,
    instruction: `You are ${name}.`,
    beforeAgentCallback: onlyIfPlanned(name),
    outputKey: `${name}_output`,
  });
const workers = new ParallelAgent({ name: 'workers', subAgents: [worker('coder'), worker('mathematician')] });
const summary = new LlmAgent({
  name: 'summary',
  model,
  instruction: ({ state }: ReadonlyContext) =>
    `Summarize: ${(state.get('plan') as string[]).map((name) => String(state.get(`${name}_output`) ?? '')).join(', ')}`,
  includeContents: 'none',
});
const execution = new SequentialAgent({ name: 'execution', subAgents: [workers, summary] });
const plan = new FunctionTool({
  name: 'plan',
  description: 'Sets the plan.',
  parameters: z.object({ agents: z.array(z.string()) }),
  execute: ({ agents }, toolContext) => {
    toolContext?.state.set('plan', agents);
    return 'The plan is set.';
  },
});
const manager = new LlmAgent({
  name: 'manager',
  model,
  instruction: 'Plan, then transfer.',
  subAgents: [execution],
  tools: [plan],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'plan', args: { agents: ['coder'] } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'execution' } }] })),
    jsonReply(wireResponse('const a = 1;')),
    jsonReply(wireResponse('It is done.')),
  ],
  main: (tell) => converse(tell, manager, ['Write a constant.']),
};
export default program;
