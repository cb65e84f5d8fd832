import { AgentTool, LlmAgent } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const weather = new LlmAgent({
  name: 'weather_agent',
  model: 'gemini-flash-latest',
  mode: 'single_turn',
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.object({ temperature: z.string(), conditions: z.string() }),
  instruction: 'Give the weather.',
});
const agent = new LlmAgent({
  name: 'root_agent',
  model: 'gemini-flash-latest',
  instruction: 'Use the weather agent.',
  tools: [new AgentTool({ agent: weather })],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'weather_agent', args: { city: 'San Jose' } }] })),
    jsonReply(wireResponse(JSON.stringify({ temperature: '26 C', conditions: 'Sunny' }))),
    jsonReply(wireResponse('It is sunny.')),
  ],
  main: (tell) => converse(tell, agent, ['How is the weather in San Jose?']),
};
export default program;
