import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { ChunkModel, InstantModel } from '../models.ts';
import { CHUNKED, CHUNKS, TURN } from './apps.ts';
import { reportOfThisProcess, type SseReport } from './sse-order.ts';

// A server with default settings and in-memory sessions that are created on demand.

const sessionService = new InMemorySessionService();
const runners = [
  { appName: TURN, model: new InstantModel() },
  { appName: CHUNKED, model: new ChunkModel(CHUNKS) },
].map(({ appName, model }) => {
  const agent = new LlmAgent({ name: 'agent', model, instruction: 'Be helpful.' });
  return new Runner({ appName, agent, sessionService, autoCreateSession: true });
});
const { url } = await serve(createServer({ runners }), { port: 0 });

process.on('message', () => process.send?.(reportOfThisProcess()));
process.on('disconnect', () => process.exit());
process.send?.({ url } satisfies SseReport);
