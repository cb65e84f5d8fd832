import { getFunctionCalls, type Part } from '@eventloom/core';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answer, authoredOutputsOf as outputsOf, talk } from '../fixtures/workflow-talk.ts';
import {
  type EdgeItem,
  FunctionTool,
  JoinNode,
  LlmAgent,
  node,
  type NodeContext,
  RequestInput,
  Workflow,
} from '../index.ts';

const inputSchema = z.object({ n: z.number() });
const double = node((_context: NodeContext, { n }: { n: number }) => n * 2, { name: 'double', inputSchema });
const asking = node(() => new RequestInput({ interruptId: 'size', message: 'Which size?' }), {
  name: 'double',
  inputSchema,
});

/** A conversation with a workflow whose first node is an agent with one tool. */
function talkTo(options: object, steps = ['first answer', 'second answer']) {
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'double', args: { n: 4 } }] }, ...steps]);
  const agent = new LlmAgent({ name: 'agent', model, ...options });
  const last = node((_context: NodeContext, input: string) => `last: ${input}`, { name: 'last' });
  return talk([['START', agent, last]]);
}

describe('an agent in a node of a workflow completes after its', () => {
  test.each([
    ['node', { tools: [double] }],
    ['workflow', { tools: [new Workflow({ name: 'double', inputSchema, edges: [['START', double]] })] }],
    ['node, and sees the conversation', { tools: [double], includeContents: 'default' }],
  ])('tool that is a %s', async (_what, options) => {
    const { send } = await talkTo(options);
    const events = await send('go');
    expect(outputsOf(events).slice(-2)).toEqual([
      ['agent', 'first answer'],
      ['last', 'last: first answer'],
    ]);
    // The next message starts the workflow from its beginning.
    expect(outputsOf(await send('again')).at(-1)).toEqual(['last', 'last: second answer']);
  });

  test('task of a sub-agent', async () => {
    const helper = new LlmAgent({ name: 'double', mode: 'single_turn', model: new ScriptedModel(['eight']) });
    const { send } = await talkTo({ subAgents: [helper] });
    expect(outputsOf(await send('go')).slice(-2)).toEqual([
      ['agent', 'first answer'],
      ['last', 'last: first answer'],
    ]);
  });
});

describe('an agent that waits for a confirmation runs the confirmed tool, after', () => {
  test.each([
    ['a node beside it got an answer', undefined],
    [
      'a node beside it got an answer, and one behind that ended without an output',
      node(() => undefined, { name: 'silent' }),
    ],
    ['a node beside it got an answer, and one behind that ended with an output', node(() => 'loud', { name: 'loud' })],
  ])('%s', async (_what, behind) => {
    let paid = 0;
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: true,
      execute: () => ++paid,
    });
    const model = new ScriptedModel([{ calls: [{ name: 'pay' }] }, 'Paid.']);
    const payer = new LlmAgent({ name: 'payer', model, tools: [pay] });
    const ask = node(() => new RequestInput({ interruptId: 'size', message: 'Which size?' }), { name: 'ask' });
    const join = new JoinNode({ name: 'join' });
    const edges: EdgeItem[] = behind
      ? [
          ['START', [payer, ask]],
          [ask, behind, join],
          [payer, join],
        ]
      : [['START', [payer, ask], join]];
    const { send } = await talk(edges);
    const asked = (await send('go')).flatMap(getFunctionCalls);
    await send(answer('size', { result: 'L' }));
    await expect(send(answer('size', { result: 'M' }))).rejects.toThrow('the request "size" has already been answered');
    const { id = '', name = '' } = asked.find((call) => call.name === 'adk_request_confirmation') ?? {};
    const events = await send(answer(id, { confirmed: true }, name));
    expect(paid).toBe(1);
    expect(outputsOf(events)).toContainEqual(['payer', 'Paid.']);
  });
});

describe('a node that an agent in a workflow calls as a tool gets the answer to its question', () => {
  test.each<[string, Part]>([
    ['a response', answer('size', { result: 'L' })],
    ['a text', { text: 'L' }],
  ])('from %s', async (_what, given) => {
    for (const includeContents of [undefined, 'default' as const]) {
      const { send } = await talkTo({ tools: [asking], ...(includeContents && { includeContents }) });
      expect((await send('go')).flatMap(getFunctionCalls).at(-1)).toMatchObject({ id: 'size' });
      expect(outputsOf(await send(given))).toEqual([
        ['double', 'L'],
        ['agent', 'first answer'],
        ['last', 'last: first answer'],
      ]);
    }
  });
});
