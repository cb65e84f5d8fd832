import { FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent } from '@google/adk';
import { createUserContent, type Schema, Type } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const CountryInput = z.object({ country: z.string().describe('The country.') });

const getCapital = new FunctionTool({
  name: 'get_capital',
  description: 'Returns the capital of a country.',
  parameters: CountryInput,
  execute: async ({ country }: z.infer<typeof CountryInput>) => ({
    result: country === 'France' ? 'Paris' : `No capital of ${country} is known.`,
  }),
});

const withTool = new LlmAgent({
  name: 'capital_agent',
  model: 'gemini-2.5-flash',
  description: 'Knows capitals.',
  instruction: 'Use get_capital and answer with the name of the city.',
  tools: [getCapital],
  outputKey: 'capital',
});

const CapitalInfo: Schema = {
  type: Type.OBJECT,
  properties: { capital: { type: Type.STRING }, population: { type: Type.STRING, description: 'An estimate.' } },
  required: ['capital', 'population'],
};

const withSchema = new LlmAgent({
  name: 'info_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Answer with JSON.',
  outputSchema: CapitalInfo,
  outputKey: 'info',
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'get_capital', args: { country: 'France' } }] })),
    jsonReply(wireResponse('Paris')),
    jsonReply(wireResponse('{"capital":"Paris","population":"2 million"}')),
  ],
  async main(tell) {
    for (const agent of [withTool, withSchema]) {
      const runner = new InMemoryRunner({ appName: 'capitals', agent });
      const session = await runner.sessionService.createSession({ appName: 'capitals', userId: 'ann' });
      const newMessage = createUserContent('What is the capital of France?');
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: session.id, newMessage })) {
        tell(event);
        if (isFinalResponse(event)) tell(`final: ${event.content?.parts?.map((part) => part.text ?? '').join('')}`);
      }
      const stored = await runner.sessionService.getSession({
        appName: 'capitals',
        userId: 'ann',
        sessionId: session.id,
      });
      tell(stored?.state[agent.outputKey ?? ''] as object);
    }
  },
};
export default program;
