import { FunctionTool, InMemoryRunner, isFinalResponse, LlmAgent, stringifyContent } from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

function getWeatherReport(params: { city: string }): Record<string, unknown> {
  if (params.city === 'London') return { status: 'success', report: 'It is cloudy.' };
  return { status: 'error', error_message: `There is no report on ${params.city}.` };
}

function analyzeSentiment(params: { text: string }): Record<string, unknown> {
  return { status: 'success', sentiment: params.text.includes('cloudy') ? 'negative' : 'neutral' };
}

const agent = new LlmAgent({
  name: 'weather_sentiment_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Get the weather, then its sentiment.',
  tools: [
    new FunctionTool({
      name: 'get_weather_report',
      description: 'Gets the weather.',
      parameters: z.object({ city: z.string().describe('The city.') }),
      execute: getWeatherReport,
    }),
    new FunctionTool({
      name: 'analyze_sentiment',
      description: 'Analyzes a text.',
      parameters: z.object({ text: z.string().describe('The text.') }),
      execute: analyzeSentiment,
    }),
  ],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'get_weather_report', args: { city: 'London' } }] })),
    jsonReply(wireResponse({ calls: [{ name: 'analyze_sentiment', args: { text: 'It is cloudy.' } }] })),
    jsonReply(wireResponse(' It is cloudy, which is sad. ')),
    jsonReply(wireResponse({ calls: [{ name: 'get_weather_report', args: { city: 'Atlantis' } }] })),
    jsonReply(wireResponse('I do not know.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent, appName: 'weather_app' });
    await runner.sessionService.createSession({ appName: 'weather_app', userId: 'ann', sessionId: 'one' });
    for (const city of ['London', 'Atlantis']) {
      const newMessage: Content = createUserContent(`How is the weather in ${city}?`);
      for await (const event of runner.runAsync({ userId: 'ann', sessionId: 'one', newMessage })) {
        tell(event);
        if (isFinalResponse(event) && event.content?.parts?.length) tell(`final: ${stringifyContent(event).trim()}`);
      }
    }
  },
};
export default program;
