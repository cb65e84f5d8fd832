import { ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  AgentTool,
  type BaseTool,
  type Context,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  node,
  NodeTool,
} from './index.ts';

const named = { name: 'work', description: 'Works.' };
const agent = (): LlmAgent => new LlmAgent({ ...named, model: new ScriptedModel(['Done.']) });

/** Runs an agent whose `beforeAgentCallback` calls a tool. Resolves to the tool's result. */
async function callInCallback(tool: BaseTool): Promise<unknown> {
  let result: unknown;
  const beforeAgentCallback = async (toolContext: Context): Promise<undefined> => {
    result = await tool.runAsync({ args: { request: 'Work.' }, toolContext });
    return undefined;
  };
  const caller = new LlmAgent({ name: 'helper', model: new ScriptedModel(['Hello.']), beforeAgentCallback });
  const runner = new InMemoryRunner({ agent: caller, resumable: true });
  const newMessage = { role: 'user', parts: [{ text: 'Hi.' }] };
  for await (const _event of runner.runEphemeral({ userId: 'ann', newMessage }));
  return result;
}

const asking = new FunctionTool({ ...named, name: 'ask', requireConfirmation: true, execute: () => 1 });

test.each<[title: string, tool: () => BaseTool, result: unknown]>([
  ['of a function', () => new FunctionTool({ ...named, execute: (_args, context) => context.agentName }), 'helper'],
  [
    'of a generator',
    () =>
      new FunctionTool({
        ...named,
        execute: async function* () {
          yield 'a';
          yield 'b';
        },
      }),
    'ab',
  ],
  ['with an input stream', () => new FunctionTool({ ...named, inputStream: true, execute: () => 1 }), 1],
  ['of an agent', () => new AgentTool({ agent: agent() }), 'Done.'],
  ['of an agent that shows its work', () => new AgentTool({ agent: agent(), streamInner: true }), 'Done.'],
  [
    'of a node',
    () => new NodeTool(node(() => 'Done.', { ...named, inputSchema: z.object({ request: z.string() }) })),
    'Done.',
  ],
])('a callback of an agent calls a tool %s with its context', async (_title, tool, result) => {
  expect(await callInCallback(tool())).toEqual(result);
});

test('a tool that a callback calls with its context cannot ask a person', async () => {
  await expect(callInCallback(asking)).rejects.toThrow('requestConfirmation: can be used only while a tool call runs');
});

test('an agent that a callback calls as a tool does not wait for a person', async () => {
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'ask', args: {} }] }]);
  const tool = new AgentTool({ agent: new LlmAgent({ ...named, model, tools: [asking] }) });
  expect(await callInCallback(tool)).toEqual({ error: expect.stringContaining('requires confirmation') });
});

test('a tool that a callback calls writes to the state of the callback', async () => {
  const note = new FunctionTool({ ...named, execute: (_args, { state }) => state.set('noted', true) });
  const beforeAgentCallback = async (toolContext: Context): Promise<undefined> => {
    await note.runAsync({ args: {}, toolContext });
    expect(toolContext.actions.stateDelta).toEqual({ noted: true });
    return undefined;
  };
  const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel(['Hello.']), beforeAgentCallback });
  const runner = new InMemoryRunner({ agent });
  const newMessage = { role: 'user', parts: [{ text: 'Hi.' }] };
  const states: unknown[] = [];
  for await (const { actions } of runner.runEphemeral({ userId: 'ann', newMessage })) states.push(actions.stateDelta);
  expect(states).toContainEqual({ noted: true });
});
