import { FunctionTool, InMemorySessionService, LlmAgent, Runner } from 'eventloom';
import * as z from 'zod';
import { InstantModel } from '../models.ts';

/** The same application as `cold-start-entry.ts` with the package `eventloom`, and a tool whose arguments zod checks. */
const parameters = z.object({ zone: z.string() });
const tool = new FunctionTool({
  name: 'now',
  description: 'The time.',
  parameters,
  execute: () => ({ time: Date.now() }),
});
const agent = new LlmAgent({ name: 'agent', model: new InstantModel(), tools: [tool] });
export const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
