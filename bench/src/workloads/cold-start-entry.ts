import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { FunctionTool } from '@eventloom/tools';
import { InstantModel } from '../models.ts';

/**
 * The objects that an application creates at its start: an agent with a tool and a model, and a runner with in-memory
 * sessions.
 */
const tool = new FunctionTool({ name: 'now', description: 'The time.', execute: () => ({ time: Date.now() }) });
const agent = new LlmAgent({ name: 'agent', model: new InstantModel(), tools: [tool] });
export const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
