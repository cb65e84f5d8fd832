import { getFunctionResponses } from '@eventloom/core';
import { AgentTool, LoopAgent, ParallelAgent, SequentialAgent } from '@eventloom/multi-agent';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, END, type GraphAgent, START, StateGraph } from './index.ts';
import { linesOf } from './fixtures/read-output.ts';
import { scenario, scripted } from '../../runner/src/fixtures/scenario.ts';

/** A graph of one function. */
function single(name: string, work: (input: string) => unknown): GraphAgent {
  return new StateGraph({ name })
    .addNode(`${name}_work`, (input: string) => work(input))
    .addEdge(START, `${name}_work` as never)
    .addEdge(`${name}_work` as never, END)
    .compile();
}

test('a graph runs inside sequential, loop and parallel agents', async () => {
  let rounds = 0;
  const agent = new SequentialAgent({
    name: 'seq',
    subAgents: [
      single('one', () => 1),
      new ParallelAgent({ name: 'par', subAgents: [single('two', () => 2), single('three', () => 3)] }),
      new LoopAgent({ name: 'loop', maxIterations: 2, subAgents: [single('four', () => ++rounds)] }),
    ],
  });
  const { run } = await scenario({ agent });
  expect(linesOf(await run('x')).toSorted()).toEqual(['four: 1', 'four: 2', 'one: 1', 'three: 3', 'two: 2']);
});

test('a graph can be called as a tool with arguments of its input schema', async () => {
  const graph = new StateGraph({
    name: 'adder',
    description: 'Adds.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
  })
    .addNode('add', (input: { a: number; b: number }) => ({ sum: input.a + input.b }))
    .addEdge(START, 'add')
    .addEdge('add', END)
    .compile();
  const root = scripted('root', [{ calls: [{ name: 'adder', args: { a: 2, b: 3 } }] }, 'it is five'], {
    tools: [new AgentTool({ agent: graph })],
  });
  const { run } = await scenario({ agent: root });
  const events = await run('2 and 3');
  expect(events.flatMap(getFunctionResponses)[0]?.response).toEqual({ sum: 5 });
});

test('a graph rejects an input that does not match its schema', async () => {
  const graph = new StateGraph({ name: 'g', inputSchema: z.object({ a: z.number() }) })
    .addNode('n', () => 1)
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile();
  const { run } = await scenario({ agent: graph });
  await expect(run('{"a":"x"}')).rejects.toThrow(/graph "g": its input does not match/);
});

test('a model can transfer to a graph, and a graph node can transfer to an agent', async () => {
  const helper = scripted('helper', ['helped']);
  const graph = new StateGraph({ name: 'flow', subAgents: [helper] })
    .addNode('decide', (_: string, context) => {
      context.callbackContext.actions.transferToAgent = 'helper';
    })
    .addNode('never', () => 'never')
    .addEdge(START, 'decide')
    .addEdge('decide', 'never')
    .addEdge('never', END)
    .compile();
  const root = scripted('root', [{ calls: [{ name: 'transfer_to_agent', args: { agent_name: 'flow' } }] }], {
    subAgents: [graph],
  });
  const { run } = await scenario({ agent: root });
  const events = await run('x');
  expect(linesOf(events).at(-1)).toBe('helper: helped');
  expect(events.some(({ author }) => author === 'never')).toBe(false);
});

test('a sub-graph has its own channels, and concurrent runs of it do not share them', async () => {
  const sub = new StateGraph({ name: 'sub', channels: { seen: channel(z.string(), { default: '' }) } })
    .addNode('note', (input: string, context) => context.update({ seen: input }), { writes: ['seen'] })
    .addNode('tell', (_: unknown, context) => context.state.seen)
    .addEdge(START, 'note')
    .addEdge('note', 'tell')
    .addEdge('tell', END)
    .compile();
  const agent = new StateGraph({ name: 'g' })
    .addNode('all', (_: string, context) => Promise.all(['a', 'b', 'c'].map((each) => context.runNode(sub, each))))
    .addEdge(START, 'all')
    .addEdge('all', END)
    .compile();
  const { run } = await scenario({ agent });
  expect(linesOf(await run('x')).at(-1)).toBe('g: ["a","b","c"]');
});

test('closing a graph closes the agents and tools of its nodes', async () => {
  const closed: string[] = [];
  class Held extends FunctionTool {
    override async close(): Promise<void> {
      closed.push(this.name);
    }
  }
  class Broken extends Held {
    override async close(): Promise<void> {
      await super.close();
      throw new RangeError('open');
    }
  }
  const closing = new StateGraph({ name: 'g' })
    .addNode('broken', new Broken({ name: 'broken', description: '', execute: () => 1 }))
    .addNode('held', new Held({ name: 'held', description: '', execute: () => 1 }))
    .addEdge(START, 'broken')
    .addEdge('broken', 'held')
    .addEdge('held', END)
    .compile()
    .close();
  await expect(closing).rejects.toThrow('open');
  expect(closed).toEqual(['broken', 'held']);
});
