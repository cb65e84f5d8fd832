import { type Event, FunctionTool, InMemoryRunner, LlmAgent, stringifyContent } from '@google/adk';
import { type Content, createUserContent } from '@google/genai';
import { jsonReply, wireResponse } from '@eventloom/testing/fake-gemini';
import { z } from 'zod';
import type { Program } from '../stage.ts';

async function getStockPrice({ ticker }: { ticker: string }): Promise<Record<string, unknown>> {
  return { price: ticker === 'GOOG' ? '$123' : 'unknown' };
}

const stockAgent = new LlmAgent({
  name: 'stock_agent',
  model: 'gemini-2.5-flash',
  instruction: 'Tell prices.',
  tools: [
    new FunctionTool({
      name: 'getStockPrice',
      description: 'Gets the price of a stock.',
      parameters: z.object({ ticker: z.string().describe('The symbol of the stock.') }),
      execute: getStockPrice,
    }),
  ],
});

const program: Program = {
  replies: [
    jsonReply(wireResponse({ calls: [{ name: 'getStockPrice', args: { ticker: 'GOOG' } }] })),
    jsonReply(wireResponse('It costs $123.')),
  ],
  async main(tell) {
    const runner = new InMemoryRunner({ agent: stockAgent });
    tell(runner.appName);
    const session = await runner.sessionService.createSession({ appName: runner.appName, userId: 'ann' });
    const newMessage: Content = createUserContent('What does GOOG cost?');
    const events: Event[] = [];
    for await (const event of runner.runAsync({ userId: session.userId, sessionId: session.id, newMessage }))
      events.push(event);
    for (const event of events) tell(event);
    const last = events.at(-1);
    if (last?.content?.parts?.length) tell(stringifyContent(last));
  },
};
export default program;
