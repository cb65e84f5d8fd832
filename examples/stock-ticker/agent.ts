import { setInterval } from 'node:timers/promises';
import { FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const PRICES = [101.2, 101.4, 99.8, 100.6];

const watchPrice = new FunctionTool({
  name: 'watch_price',
  description: 'Watches the price of a stock, and reports it as it changes.',
  parameters: z.object({ symbol: z.string() }),
  // The model gets each price when it is yielded, and keeps talking meanwhile.
  inputStream: true,
  async *execute({ symbol }, { abortSignal }) {
    let ticks = 0;
    for await (const _ of setInterval(200, undefined, { signal: abortSignal })) {
      yield { symbol, price: PRICES[ticks++ % PRICES.length] };
    }
  },
});

export const rootAgent = new LlmAgent({
  name: 'broker',
  model: 'gemini-3.1-flash-live-preview',
  instruction:
    'You watch stocks. Say a price when it falls below 100, and the first one. Stop watching when you are asked to.',
  tools: [watchPrice],
});
