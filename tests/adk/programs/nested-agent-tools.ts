import { AgentTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const model = 'gemini-flash-latest';
const searcher = new LlmAgent({ name: 'WebSearch', model, description: 'Searches for facts.' });
const summarizer = new LlmAgent({ name: 'Summarizer', model, description: 'Summarizes texts.' });
const assistant = new LlmAgent({
  name: 'ResearchAssistant',
  model,
  description: 'Finds and summarizes facts.',
  tools: [new AgentTool({ agent: searcher }), new AgentTool({ agent: summarizer })],
});
const writer = new LlmAgent({
  name: 'ReportWriter',
  model,
  instruction: 'Write a report.',
  tools: [new AgentTool({ agent: assistant })],
});

const call = (name: string, request: string) => jsonReply(wireResponse({ calls: [{ name, args: { request } }] }));
const program: Program = {
  replies: [
    call('ResearchAssistant', 'Research the moon.'),
    call('WebSearch', 'moon'),
    jsonReply(wireResponse('The moon is far away, and round.')),
    call('Summarizer', 'The moon is far away, and round.'),
    jsonReply(wireResponse('Far and round.')),
    jsonReply(wireResponse('The moon: far and round.')),
    jsonReply(wireResponse('Report: the moon is far and round.')),
    jsonReply(wireResponse('It is round.')),
  ],
  main: (tell) => converse(tell, writer, ['Report on the moon.', 'Which form?']),
};
export default program;
