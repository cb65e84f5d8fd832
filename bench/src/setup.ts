import type { BaseLlm, BaseSessionService, Content, Event, RunConfig } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { FunctionTool } from '@eventloom/tools';
import * as z from 'zod';
import type { FloorTools } from './floor.ts';

export const MESSAGE: Content = { role: 'user', parts: [{ text: 'What is the answer?' }] };
export const APP = { appName: 'bench', userId: 'u' } as const;

const ADD_ARGUMENTS = z.object({ a: z.number(), b: z.number() });

/** Creates an agent with one tool that adds numbers. */
export function createAgent(model: BaseLlm): LlmAgent {
  return new LlmAgent({
    name: 'agent',
    model,
    instruction: 'Be helpful.',
    tools: [
      new FunctionTool({
        name: 'add',
        description: 'Adds two numbers.',
        parameters: ADD_ARGUMENTS,
        execute: ({ a, b }) => ({ sum: a + b }),
      }),
    ],
  });
}

export const floorTools: FloorTools = {
  add: async ({ a, b }) => ({ sum: Number(a) + Number(b) }),
};

export function createRunner(model: BaseLlm, sessionService: BaseSessionService): Runner {
  return new Runner({ appName: APP.appName, agent: createAgent(model), sessionService });
}

/** Runs one turn to its end. Returns the number of events. */
export async function turn(
  runner: Runner,
  sessionId: string,
  runConfig?: RunConfig,
  userId: string = APP.userId,
): Promise<number> {
  return drain(runner.runAsync({ userId, sessionId, newMessage: MESSAGE, runConfig }));
}

export async function drain(events: AsyncIterable<Event>): Promise<number> {
  let count = 0;
  for await (const _ of events) count++;
  return count;
}
