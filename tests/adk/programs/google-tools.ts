import { AgentTool, BuiltInCodeExecutor, GOOGLE_SEARCH, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const searcher = new LlmAgent({
  name: 'searcher',
  model: 'gemini-2.5-flash',
  description: 'Searches the web.',
  instruction: 'Search.',
  tools: [GOOGLE_SEARCH],
});
const coder = new LlmAgent({
  name: 'coder',
  model: 'gemini-2.5-flash',
  description: 'Calculates with code.',
  instruction: 'Write code.',
  codeExecutor: new BuiltInCodeExecutor(),
});
const rootAgent = new LlmAgent({
  name: 'chief',
  model: 'gemini-2.5-flash',
  instruction: 'Use your tools.',
  generateContentConfig: { temperature: 0.2, maxOutputTokens: 500 },
  tools: [new AgentTool({ agent: searcher }), new AgentTool({ agent: coder })],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'searcher', args: { request: 'Height of the tower?' } }] })),
    jsonReply(wireResponse('330 m')),
    jsonReply(wireResponse({ calls: [{ name: 'coder', args: { request: '330 * 3' } }] })),
    jsonReply(wireResponse('990')),
    jsonReply(wireResponse('990 m')),
  ],
  main: (tell) => converse(tell, rootAgent, ['How high are three towers?']),
};
export default program;
