import { Gemini, LlmAgent, LlmSummarizer, TokenBasedContextCompactor } from '@google/adk';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { converse } from '../converse.ts';
import type { Program } from '../stage.ts';

const agent = new LlmAgent({
  name: 'talker',
  model: 'gemini-flash-latest',
  instruction: 'Talk.',
  contextCompactors: [
    new TokenBasedContextCompactor({
      tokenThreshold: 100,
      eventRetentionSize: 1,
      summarizer: new LlmSummarizer({ llm: new Gemini({ model: 'gemini-flash-latest' }), prompt: 'Sum up:' }),
    }),
  ],
});

const usage = { promptTokenCount: 150, candidatesTokenCount: 10, totalTokenCount: 160 };
const program: Program = {
  replies: [
    jsonReply(wireResponse('The sea is blue.')),
    jsonReply(wireResponse({ text: 'The sand is yellow.', usage })),
    jsonReply(wireResponse('Summary: colours of the beach.')),
    jsonReply(wireResponse('The sun is red.')),
  ],
  main: (tell) => converse(tell, agent, ['The sea?', 'The sand?', 'The sun?']),
};
export default program;
