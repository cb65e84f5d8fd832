import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { createErrorEvent } from '@eventloom/core/internal';
import { LoopAgent } from '@eventloom/multi-agent';
import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { END, type GraphAgent, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

/** Runs an agent in a session, in which `graph` is looked for. */
async function setUp(graph: GraphAgent, agent: BaseAgent = graph) {
  const { start, stored } = await scenario({ agent, resumable: true });
  const stream = start();
  const { invocationId } = stream;
  const query = async () => ({ invocationId, events: await stored() });
  const run = async () => {
    for await (const _ of stream);
  };
  return { run, query, histories: async () => graph.history(await query()) };
}

/** A model whose replies are numbered, and which calls a function for each. */
class Counting extends BaseAgent {
  readonly #work: (count: number, context: InvocationContext) => Promise<Event | undefined>;
  #count = 0;

  constructor(work: (count: number, context: InvocationContext) => Promise<Event | undefined>) {
    super({ name: 'counting' });
    this.#work = work;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const event = await this.#work(++this.#count, context);
    yield event ?? context.createEvent({ author: this.name, content: { parts: [{ text: `${this.#count}` }] } });
  }
}

test('a graph that a node ended with a transfer has the status finished', async () => {
  const helper = new Counting(() => Promise.resolve(undefined));
  const graph = new StateGraph({ name: 'g', subAgents: [helper] })
    .addNode('decide', (_: string, context) => {
      context.callbackContext.actions.transferToAgent = 'counting';
    })
    .addNode('never', () => 'never')
    .addEdge(START, 'decide')
    .addEdge('decide', 'never')
    .addEdge('never', END)
    .compile();
  const { run, histories } = await setUp(graph);
  await run();
  expect(await histories()).toMatchObject([{ status: 'finished' }]);
});

test('a retried error of an agent node does not give the graph the status failed', async () => {
  const gate = new Gate();
  const flaky = new Counting(async (count, context) => {
    if (count === 1) return createErrorEvent(context.createEvent({ author: 'counting' }), 'MODEL', 'no model');
    await gate.pass();
    return undefined;
  });
  const graph = new StateGraph({ name: 'g' })
    .addNode('flaky', flaky, { retry: { maxAttempts: 2, initialDelayMs: 0 } })
    .addEdge(START, 'flaky')
    .addEdge('flaky', END)
    .compile();
  const { run, histories, query } = await setUp(graph);
  const running = run();
  await gate.reached;
  expect((await query()).events.some(({ errorCode }) => errorCode === 'MODEL')).toBe(true);
  expect(await histories()).toMatchObject([{ status: 'open' }]);
  gate.open();
  await running;
  expect(await histories()).toMatchObject([{ status: 'finished' }]);
});

test('a history shows the last attempt of a node that is a graph', async () => {
  let attempts = 0;
  const sub = new StateGraph({ name: 'sub' })
    .addNode('count', () => ++attempts)
    .addNode('check', (count: number) => {
      if (count === 1) throw new TypeError('too few');
      return count;
    })
    .addEdge(START, 'count')
    .addEdge('count', 'check')
    .addEdge('check', END)
    .compile();
  const graph = new StateGraph({ name: 'g' })
    .addNode('nested', sub, { retry: { maxAttempts: 2, initialDelayMs: 0 } })
    .addEdge(START, 'nested')
    .addEdge('nested', END)
    .compile();
  const { run, histories } = await setUp(graph);
  await run();
  const [history] = await histories();
  expect(history?.steps[0]?.nodes[0]?.graph).toMatchObject({ status: 'finished', output: 2, steps: [{}, {}] });
});

test('describeRun draws the path of the last run', async () => {
  let rounds = 0;
  const graph = new StateGraph({ name: 'g' })
    .addNode('turn', () => ++rounds)
    .addNode('left', () => 'left')
    .addNode('right', () => 'right')
    .addEdge(START, 'turn')
    .addConditionalEdges('turn', (round) => (round === 1 ? 'left' : 'right'), { left: 'left', right: 'right' })
    .addEdge('left', END)
    .addEdge('right', END)
    .compile();
  const { run, query } = await setUp(graph, new LoopAgent({ name: 'loop', subAgents: [graph], maxIterations: 2 }));
  await run();
  const { runs, mermaid } = graph.describeRun(await query());
  const [first, last] = graph.history(await query());
  expect(runs).toHaveLength(2);
  expect(mermaid).toBe(graph.toMermaid(last));
  expect(mermaid).not.toBe(graph.toMermaid(first));
});
