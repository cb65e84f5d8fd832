import { type Event, getFunctionCalls, type Part } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { InMemoryRunner, LlmAgent, node, type NodeContext, RequestInput, Workflow } from '../index.ts';

const inputSchema = z.object({ n: z.number() });
const double = node((_context: NodeContext, { n }: { n: number }) => n * 2, { name: 'double', inputSchema });
const asking = node(() => new RequestInput({ interruptId: 'size', message: 'Which size?' }), {
  name: 'double',
  inputSchema,
});

/** A conversation with a workflow whose first node is an agent with one tool. */
async function talk(options: object, steps = ['first answer', 'second answer']) {
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'double', args: { n: 4 } }] }, ...steps]);
  const agent = new LlmAgent({ name: 'agent', model, ...options });
  const last = node((_context: NodeContext, input: string) => `last: ${input}`, { name: 'last' });
  const workflow = new Workflow({ name: 'w', edges: [['START', agent, last]] });
  const runner = new InMemoryRunner({ agent: workflow, appName: 'app' });
  await runner.sessionService.createSession({ appName: 'app', userId: 'u', sessionId: 's' });
  return (...parts: Part[]): Promise<Event[]> =>
    runner.run({ userId: 'u', sessionId: 's', newMessage: { role: 'user', parts } });
}

const outputsOf = (events: readonly Event[]): unknown[] =>
  events.flatMap(({ author, output }) => (output === undefined ? [] : [[author, output]]));

describe('an agent in a node of a workflow completes after its', () => {
  test.each([
    ['node', { tools: [double] }],
    ['workflow', { tools: [new Workflow({ name: 'double', inputSchema, edges: [['START', double]] })] }],
    ['node, and sees the conversation', { tools: [double], includeContents: 'default' }],
  ])('tool that is a %s', async (_what, options) => {
    const send = await talk(options);
    const events = await send({ text: 'go' });
    expect(outputsOf(events).slice(-2)).toEqual([
      ['agent', 'first answer'],
      ['last', 'last: first answer'],
    ]);
    // The next message starts the workflow from its beginning.
    expect(outputsOf(await send({ text: 'again' })).at(-1)).toEqual(['last', 'last: second answer']);
  });

  test('task of a sub-agent', async () => {
    const helper = new LlmAgent({ name: 'double', mode: 'single_turn', model: new ScriptedModel(['eight']) });
    const send = await talk({ subAgents: [helper] });
    expect(outputsOf(await send({ text: 'go' })).slice(-2)).toEqual([
      ['agent', 'first answer'],
      ['last', 'last: first answer'],
    ]);
  });
});

describe('a node that an agent in a workflow calls as a tool gets the answer to its question', () => {
  test.each<[string, Part]>([
    ['a response', { functionResponse: { id: 'size', name: 'adk_request_input', response: { result: 'L' } } }],
    ['a text', { text: 'L' }],
  ])('from %s', async (_what, answer) => {
    for (const includeContents of [undefined, 'default' as const]) {
      const send = await talk({ tools: [asking], ...(includeContents && { includeContents }) });
      expect((await send({ text: 'go' })).flatMap(getFunctionCalls).at(-1)).toMatchObject({ id: 'size' });
      expect(outputsOf(await send(answer))).toEqual([
        ['double', 'L'],
        ['agent', 'first answer'],
        ['last', 'last: first answer'],
      ]);
    }
  });
});
