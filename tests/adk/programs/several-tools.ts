import { FunctionTool, InMemoryRunner, LlmAgent } from '@google/adk';
import { createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

const city = z.object({ city: z.string() });
const weather = new FunctionTool({
  name: 'get_weather',
  description: 'Returns the weather.',
  parameters: city,
  execute: ({ city: name }) => ({ status: 'success', report: `Sunny in ${name}.` }),
});
const population = new FunctionTool({
  name: 'get_population',
  description: 'Counts.',
  parameters: city,
  execute: () => 42,
});
const failing = new FunctionTool({
  name: 'get_traffic',
  description: 'Returns the traffic.',
  parameters: city,
  execute: () => {
    throw new Error('no traffic data');
  },
});
const agent = new LlmAgent({
  name: 'city_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Describe cities.',
  tools: [weather, population, failing],
});

const program: Program = {
  replies: [
    jsonReply(
      wireResponse({
        text: 'Let me see.',
        calls: [
          { name: 'get_weather', args: { city: 'Oslo' } },
          { name: 'get_population', args: { city: 'Oslo' } },
        ],
      }),
    ),
    jsonReply(wireResponse('Sunny, 42 people.')),
    jsonReply(wireResponse({ calls: [{ name: 'get_traffic', args: { city: 'Oslo' } }] })),
    jsonReply(wireResponse('Nobody knows.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'cities' });
    const session = await runner.sessionService.createSession({ appName: 'cities', userId: 'ann' });
    for (const text of ['Weather and people of Oslo?', 'And the traffic?'])
      for await (const event of runner.runAsync({
        userId: 'ann',
        sessionId: session.id,
        newMessage: createUserContent(text),
      }))
        tell(event);
  },
};
export default program;
