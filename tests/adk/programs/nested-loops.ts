import { EXIT_LOOP, LlmAgent, LoopAgent, SequentialAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-2.5-flash';
const writer = new LlmAgent({ name: 'writer', model, instruction: 'Write.' });
const critic = new LlmAgent({ name: 'critic', model, instruction: 'Judge, or end.', tools: [EXIT_LOOP] });
const printer = new LlmAgent({ name: 'printer', model, instruction: 'Print.' });
const review = new LoopAgent({ name: 'review', maxIterations: 5, subAgents: [critic] });
const chapters = new LoopAgent({ name: 'chapters', maxIterations: 3, subAgents: [writer, review] });
const rootAgent = new SequentialAgent({ name: 'book', subAgents: [chapters, printer] });

const program: Program = {
  replies: [
    jsonReply(wireResponse('A cat.')),
    jsonReply(wireResponse('Not yet.')),
    jsonReply(wireResponse({ calls: [{ name: 'exit_loop', args: {} }] })),
    jsonReply(wireResponse('Printed.')),
  ],
  main: (tell) => converse(tell, rootAgent, ['Begin.']),
};
export default program;
