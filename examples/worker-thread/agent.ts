import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FinalToolResult, FunctionTool, LlmAgent } from 'eventloom';
import * as z from 'zod';

const countPrimes = new FunctionTool({
  name: 'count_primes',
  description: 'Counts the primes up to a limit.',
  parameters: z.object({ limit: z.int().min(2).max(10_000_000) }),
  async *execute({ limit }, { abortSignal }) {
    const worker = new Worker(new URL('count-primes.ts', import.meta.url), { workerData: { limit } });
    try {
      for await (const [message] of on(worker, 'message', { signal: abortSignal, close: ['exit'] })) {
        yield 'count' in message ? new FinalToolResult(message) : message;
      }
    } finally {
      await worker.terminate();
    }
  },
});

export const rootAgent = new LlmAgent({
  name: 'mathematician',
  model: 'gemini-flash-latest',
  instruction: 'Answer questions about numbers with your tools.',
  tools: [countPrimes],
});
