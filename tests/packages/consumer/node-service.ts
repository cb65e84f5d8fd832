/**
 * The service of a user on Node: a server with one agent and one tool. The model is Gemini when `GEMINI_URL` is set,
 * otherwise a custom model. The program sends itself one question, prints the text of the answer and exits.
 */
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import {
  BaseLlm,
  FunctionTool,
  geminiModels,
  InMemorySessionService,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  Runner,
} from 'eventloom';
import * as z from 'zod';

class Forecaster extends BaseLlm {
  constructor() {
    super({ model: 'forecaster' });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const response = contents.at(-1)?.parts?.[0]?.functionResponse?.response;
    const functionCall = { name: 'weather', args: { city: 'Oslo' } };
    yield {
      content: { role: 'model', parts: [response ? { text: `It is ${String(response['sky'])}.` } : { functionCall }] },
    };
  }
}

const weather = new FunctionTool({
  name: 'weather',
  description: 'Tells the weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, sky: 'clear' }),
});
const { GEMINI_URL: baseUrl } = process.env;
const runner = new Runner({
  appName: 'app',
  agent: new LlmAgent({
    name: 'agent',
    model: baseUrl ? 'gemini-flash-latest' : new Forecaster(),
    tools: [weather],
  }),
  models: geminiModels({ apiKey: 'key', baseUrl }),
  sessionService: new InMemorySessionService(),
  autoCreateSession: true,
});
async function main(): Promise<void> {
  const service = await serve(createServer({ runners: [runner] }), { port: 0, drainMs: 0 });
  const newMessage = { role: 'user', parts: [{ text: 'What is the weather in Oslo?' }] };
  const body = JSON.stringify({ appName: 'app', userId: 'ann', sessionId: 's', newMessage });
  const response = await fetch(`${service.url}/run`, { method: 'POST', body });
  const events = (await response.json()) as { content?: { parts?: { text?: string }[] }; errorMessage?: string }[];
  for (const { content, errorMessage } of events) {
    for (const { text } of content?.parts ?? []) if (text) console.log(text);
    if (errorMessage) console.log(errorMessage);
  }
  await service.shutDown();
}

void main();
