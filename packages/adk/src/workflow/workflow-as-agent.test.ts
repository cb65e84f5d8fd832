import type { Part } from '@eventloom/core';
import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { answer, callIdsOf, outputsOf, talk } from '../fixtures/workflow-talk.ts';
import { FunctionTool, LlmAgent, LoopAgent, node, type NodeContext, RequestInput, Workflow } from '../index.ts';

const model = (...steps: ScriptedStep[]) => new ScriptedModel(steps);
const ask = node(() => new RequestInput({ message: 'Which city?' }), { name: 'ask' });
const upper = node((_context: NodeContext, text: string) => text.toUpperCase(), { name: 'upper' });
const reply = (id: string | undefined, result: string): Part => answer(id ?? '', { result });

describe('a workflow in a LoopAgent', () => {
  test('runs its nodes, agents and tools in each round', async () => {
    const count = node(
      ({ state }: NodeContext) => {
        const n = Number(state.get('n') ?? 0) + 1;
        state.set('n', n);
        return { n };
      },
      { name: 'count' },
    );
    const charged: unknown[] = [];
    const charge = new FunctionTool({
      name: 'charge',
      description: 'Charges.',
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
      execute: (args: unknown) => {
        charged.push(args);
        return args;
      },
    });
    const speaker = model('one', 'two', 'three');
    const flow = new Workflow({
      name: 'flow',
      edges: [['START', count, charge, new LlmAgent({ name: 'speaker', model: speaker })]],
    });
    const { send } = await talk(new LoopAgent({ name: 'loop', maxIterations: 3, subAgents: [flow] }));
    expect(outputsOf(await send('go'))).toEqual([
      { n: 1 },
      { n: 1 },
      'one',
      { n: 2 },
      { n: 2 },
      'two',
      { n: 3 },
      { n: 3 },
      'three',
    ]);
    expect(charged).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    expect(speaker.requests.map(({ request }) => request.contents.map(({ parts }) => parts))).toEqual(
      [1, 2, 3].map((n) => [[{ text: `{"n":${n}}` }]]),
    );
  });

  test.each(['a text', 'a function response'])(
    'asks in each round, and takes %s as the answer of that round',
    async (by) => {
      const noted: unknown[] = [];
      const note = new FunctionTool({
        name: 'note',
        description: 'Notes.',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
        execute: (args: unknown) => void noted.push(args),
      });
      const toArgs = node((_context: NodeContext, city: string) => ({ city }), { name: 'toArgs' });
      const flow = new Workflow({ name: 'flow', edges: [['START', ask, toArgs, note]] });
      const { send } = await talk(new LoopAgent({ name: 'loop', maxIterations: 3, subAgents: [flow] }));
      let id = callIdsOf(await send('go')).at(-1);
      const asks: boolean[] = [];
      for (const city of ['Oslo', 'Rome', 'Bern']) {
        id = callIdsOf(await send(by === 'a text' ? city : reply(id, city))).at(-1);
        asks.push(id !== undefined);
      }
      expect(noted).toEqual([{ city: 'Oslo' }, { city: 'Rome' }, { city: 'Bern' }]);
      expect(asks).toEqual([true, true, false]);
    },
  );
});

describe('a workflow below an LLM agent', () => {
  test.each(['a text', 'a function response'])('that asked continues with the answer: %s', async (by) => {
    const flow = new Workflow({ name: 'flow', description: 'Asks.', edges: [['START', ask, upper]] });
    const root = model({ calls: [{ name: 'transfer_to_agent', args: { agentName: 'flow' } }] });
    const { send } = await talk(new LlmAgent({ name: 'root', model: root, subAgents: [flow] }));
    const id = callIdsOf(await send('go')).at(-1);
    expect(outputsOf(await send(by === 'a text' ? 'Oslo' : reply(id, 'Oslo')))).toEqual(['OSLO']);
    root.assertConsumed();
  });
});

describe('a workflow that an LLM agent calls as a tool', () => {
  /** A workflow whose first node counts its runs, and whose second one asks about the input. */
  function createFlow(charged: string[]) {
    const charge = node(
      (_context: NodeContext, { city }: { city: string }) => {
        charged.push(city);
        return city;
      },
      { name: 'charge' },
    );
    const askAbout = node((_context: NodeContext, city: string) => new RequestInput({ message: city }), {
      name: 'ask',
    });
    const inputSchema = z.object({ city: z.string() });
    return new Workflow({
      name: 'flow',
      description: 'Asks.',
      inputSchema,
      edges: [['START', charge, askAbout, upper]],
    });
  }

  test.each(['a text', 'a function response'])(
    'continues with the answer behind its nodes that are done: %s',
    async (by) => {
      const charged: string[] = [];
      const steps = model({ calls: [{ name: 'flow', args: { city: 'Oslo' } }] }, 'Done.');
      const { send } = await talk(new LlmAgent({ name: 'root', model: steps, tools: [createFlow(charged)] }));
      const id = callIdsOf(await send('go')).at(-1);
      expect(outputsOf(await send(by === 'a text' ? 'yes' : reply(id, 'yes')))).toEqual(['YES']);
      expect(charged).toEqual(['Oslo']);
      steps.assertConsumed();
    },
  );

  test.each([
    ['the order of the questions', [0, 1]],
    ['the other order', [1, 0]],
  ])('twice in one reply gives each call its answer: in %s', async (_order, order) => {
    const charged: string[] = [];
    const calls = ['Oslo', 'Rome'].map((city) => ({ id: city, name: 'flow', args: { city } }));
    const steps = model({ calls }, 'Done.');
    const { send } = await talk(new LlmAgent({ name: 'root', model: steps, tools: [createFlow(charged)] }));
    const ids = callIdsOf((await send('go')).filter(({ author }) => author === 'ask'));
    const said = [];
    for (const at of order) said.push(...outputsOf(await send(reply(ids[at], `yes ${at}`))));
    expect(said).toEqual(order.map((at) => `YES ${at}`));
    expect(charged).toEqual(['Oslo', 'Rome']);
    steps.assertConsumed();
    const results = steps.requests
      .at(-1)
      ?.request.contents.at(-1)
      ?.parts?.map(({ functionResponse }) => functionResponse);
    expect(results).toMatchObject([0, 1].map((at) => ({ name: 'flow', response: { result: `YES ${at}` } })));
  });

  test('twice in one reply runs the tool of a ToolNode for the approved call only', async () => {
    const runs: unknown[] = [];
    const charge = new FunctionTool({
      name: 'charge',
      description: 'Charges.',
      parameters: z.object({ city: z.string() }),
      requireConfirmation: true,
      execute: ({ city }) => {
        runs.push(city);
        return city;
      },
    });
    const inputSchema = z.object({ city: z.string() });
    const flow = new Workflow({ name: 'flow', description: 'Charges.', inputSchema, edges: [['START', charge]] });
    const calls = ['Oslo', 'Rome'].map((city) => ({ id: city, name: 'flow', args: { city } }));
    const { send } = await talk(new LlmAgent({ name: 'root', model: model({ calls }, 'Done.'), tools: [flow] }));
    const ids = callIdsOf((await send('go')).filter(({ author }) => author === 'charge'));
    const said = [];
    for (const [at, id] of ids.entries())
      said.push(...outputsOf(await send(answer(id, { confirmed: at === 0 }, 'adk_request_confirmation'))));
    expect(said).toEqual([{ result: 'Oslo' }, { error: 'This tool call is rejected.' }]);
    expect(runs).toEqual(['Oslo']);
  });
});
