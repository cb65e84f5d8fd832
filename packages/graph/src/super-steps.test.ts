import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, START, StateGraph } from './index.ts';
import { answerOf, play } from './fixtures/played-graph.ts';

test('nodes see the channel values at the beginning of their step, and the next step sees their writes', async () => {
  const log = channel(z.array(z.string()), { reducer: append, default: ['begin'] });
  const add =
    (name: string) =>
    (_: unknown, context: { state: { log: string[] }; update: (updates: { log: string[] }) => void }) => {
      context.update({ log: [`${name} saw ${context.state.log.length}`] });
    };
  const agent = new StateGraph({ name: 'g', channels: { log } })
    .addNode('a', add('a'), { writes: ['log'] })
    .addNode('b', add('b'), { writes: ['log'] })
    .addJoin('c', add('c'), { writes: ['log'] })
    .addNode('d', (_: unknown, context) => context.state.log)
    .addEdge(START, ['a', 'b'])
    .addEdge('a', 'c')
    .addEdge('b', 'c')
    .addEdge('c', 'd')
    .addEdge('d', END)
    .compile();
  expect(answerOf((await play(agent)).events)).toEqual(['begin', 'a saw 1', 'b saw 1', 'c saw 3']);
});

test('a node runs once for each incoming edge, and a join once for all', async () => {
  const ran: unknown[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', () => 1)
    .addNode('b', () => 2)
    .addNode('each', (input: number) => {
      ran.push(input);
      return input * 10;
    })
    .addJoin('all')
    .addEdge(START, ['a', 'b'])
    .addEdge('a', ['each', 'all'])
    .addEdge('b', ['each', 'all'])
    .addEdge('each', END)
    .addEdge('all', END)
    .compile();
  const { events } = await play(agent);
  expect(ran).toEqual([1, 2]);
  expect(answerOf(events)).toEqual({ each: [10, 20], all: { a: 1, b: 2 } });
});

test('a join waits for paths of different lengths, but not for nodes that no route led to', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('choose', () => 'x')
    .addNode('short', () => 'short')
    .addNode('long1', () => 'long1')
    .addNode('long2', () => 'long2')
    .addNode('never', () => 'never')
    .addJoin('all')
    .addJoin('last')
    .addEdge(START, 'choose')
    .addConditionalEdges('choose', () => ['quick', 'slow'], { quick: 'short', slow: 'long1', none: 'never' })
    .addEdge('short', 'all')
    .addEdge('long1', 'long2')
    .addEdge('long2', 'all')
    .addEdge('never', ['all', 'last'])
    .addEdge('all', 'last')
    .addEdge('last', END)
    .compile();
  expect(answerOf((await play(agent)).events)).toEqual({ all: { short: 'short', long2: 'long2' } });
});

test('a failed node stops the other nodes of its step and fails the run', async () => {
  const stopped: string[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('fails', () => {
      throw new TypeError('broken');
    })
    .addNode(
      'waits',
      (_: unknown, { abortSignal }) =>
        new Promise<void>((resolve) => {
          abortSignal.addEventListener('abort', () => {
            stopped.push('waits');
            resolve();
          });
        }),
    )
    .addEdge(START, ['fails', 'waits'])
    .addEdge('fails', END)
    .addEdge('waits', END)
    .compile();
  await expect(play(agent)).rejects.toThrow('node "fails": broken');
  expect(stopped).toEqual(['waits']);
});

test('a join and END get all outputs of a node that runs several times in a step', async () => {
  const joined: unknown[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', () => 1)
    .addNode('b', () => 2)
    .addNode('each', (input: number) => input * 10)
    .addNode('other', (input: number) => input)
    .addJoin('all', (input) => {
      joined.push(input);
      return input;
    })
    .addEdge(START, ['a', 'b'])
    .addEdge('a', ['other', 'each'])
    .addEdge('b', 'each')
    .addEdge('each', ['all', END])
    .addEdge('other', 'all')
    .addEdge('all', END)
    .compile();
  const { events } = await play(agent);
  expect(joined).toEqual([{ each: [10, 20], other: 1 }]);
  expect(answerOf(events)).toEqual({ each: [10, 20], all: { each: [10, 20], other: 1 } });
});

test('joins without pending inputs run in order if one leads to the other', async () => {
  const ran: unknown[] = [];
  const agent = new StateGraph({ name: 'g' })
    .addNode('choose', () => 'x')
    .addNode('none', () => 'none')
    .addJoin('first', (input) => {
      ran.push(['first', input]);
      return 'first';
    })
    .addJoin('second', (input) => {
      ran.push(['second', input]);
      return 'second';
    })
    .addEdge(START, 'choose')
    .addConditionalEdges('choose', () => 'on', { on: ['second', 'first'], off: 'none' })
    .addEdge('none', ['first', 'second'])
    .addEdge('first', 'second')
    .addEdge('second', END)
    .compile();
  await play(agent);
  expect(ran).toEqual([
    ['first', { choose: 'x' }],
    ['second', { choose: 'x', first: 'first' }],
  ]);
});
