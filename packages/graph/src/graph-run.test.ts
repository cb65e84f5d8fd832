import { type Event, type Part } from '@eventloom/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, type GraphAgent, node, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

async function play(agent: GraphAgent, text = 'hi', resumable = false): Promise<Event[]> {
  const { run } = await scenario({ agent, resumable });
  return run(text);
}

const textOf = ({ content }: Event): string | undefined => content?.parts?.map(({ text }: Part) => text).join('');

test("a node's output is the input of the next node, and the value at END is the answer", async () => {
  const agent = new StateGraph({ name: 'shout' })
    .addNode('upper', (input: string) => input.toUpperCase())
    .addNode('mark', (input: string) => `${input}!`)
    .addEdge(START, 'upper')
    .addEdge('upper', 'mark')
    .addEdge('mark', END)
    .compile();
  const events = await play(agent);
  expect(events.map(({ author }) => author)).toEqual(['shout', 'upper', 'mark', 'shout']);
  expect(events.map(textOf)).toEqual([undefined, undefined, undefined, 'HI!']);
});

test('a loop repeats until a route leads out of it, and channels collect the writes', async () => {
  const agent = new StateGraph({
    name: 'count',
    channels: { seen: channel(z.array(z.number()), { reducer: append, default: [] }) },
  })
    .addNode(
      'step',
      (_input: string, context) => {
        context.update({ seen: [context.state.seen.length] });
        return 'x';
      },
      { writes: ['seen'] },
    )
    .addNode('tell', (_input: string, context) => context.state.seen)
    .addEdge(START, 'step')
    .addConditionalEdges('step', (_output, { state }) => (state.seen.length < 3 ? 'again' : 'done'), {
      again: 'step',
      done: 'tell',
    })
    .addEdge('tell', END)
    .compile();
  expect((await play(agent)).map(textOf).at(-1)).toBe('[0,1,2]');
});

test('a route set by a node without routes fails the node by name', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('lost', (_: unknown, context) => void (context.route = 'nirvana'))
    .addEdge(START, 'lost')
    .addEdge('lost', END)
    .compile();
  await expect(play(agent)).rejects.toThrow(/node "lost".*"nirvana"/);
});

test('an inner node cannot write a channel that the outer node does not declare', async () => {
  const inner = node('inner', () => 1, { writes: ['seen'] });
  const outer = (writes: 'seen'[]) =>
    new StateGraph({ name: 'g', channels: { seen: channel(z.number()) } })
      .addNode('outer', (_: unknown, context) => context.runNode(inner, null), { writes })
      .addEdge(START, 'outer')
      .addEdge('outer', END)
      .compile();
  await expect(play(outer([]))).rejects.toThrow(/"outer".*"inner".*"seen"/);
  expect((await play(outer(['seen']))).map(textOf).at(-1)).toBe('1');
});

test.each<[string, () => unknown, RegExp]>([
  [
    'throws',
    () => {
      throw new TypeError('broken');
    },
    /broken/,
  ],
  ['gives nothing', () => undefined, /router: expected the name of a route/],
  ['gives no route at all', () => [], /router: expected the name of a route/],
  ['gives a value that is not a name', () => [5], /router: expected the name of a route/],
  ['returns an unknown route', () => 'off', /has no route "off"; its routes are: on/],
])('a router that %s throws an error that names its node', async (_, router, fault) => {
  for (const from of [START, 'work'] as const) {
    const graph = new StateGraph({ name: 'g' }).addNode('work', () => 1);
    if (from === 'work') graph.addEdge(START, 'work');
    else graph.addEdge('work', END);
    graph.addConditionalEdges(from, router as () => 'on', { on: from === START ? 'work' : END });
    const error: unknown = await play(graph.compile()).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'NODE', nodeName: from });
    expect(String(error)).toMatch(fault);
  }
});

test('a compiled graph does not change when its builder changes', async () => {
  const graph = new StateGraph({ name: 'g' })
    .addNode('one', () => 1)
    .addNode('two', () => 2)
    .addEdge(START, 'one')
    .addEdge('one', END)
    .addRoutes('two', { on: END });
  graph.addEdge('one', 'two');
  const agent = graph.compile();
  const before = agent.toMermaid();
  graph
    .addNode('three', () => 3)
    .addEdge('one', 'three')
    .addEdge('three', END)
    .addEdge('two', 'three');
  expect(agent.toMermaid()).toBe(before);
  expect(graph.compile().toMermaid()).not.toBe(before);
});
