import { ConfigurationError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AnyNodes, channel, type Channels, END, node, replace, START, StateGraph } from './index.ts';
import { any, compiled, one, same } from './fixtures/checked-graph.ts';

test.each<[string, () => unknown, RegExp]>([
  [
    'a node that cannot be reached',
    () =>
      compiled(
        ['a', 'lost'],
        [
          [START, 'a'],
          ['a', END],
          ['lost', END],
        ],
      ),
    /"lost" cannot be reached/,
  ],
  [
    'a node without an edge that leads on',
    () =>
      compiled(
        ['a', 'stuck'],
        [
          [START, ['a', 'stuck']],
          ['a', END],
        ],
      ),
    /"stuck" has no outgoing edge/,
  ],
  ['no edge from START', () => compiled(['a'], [['a', END]]), /START/],
  [
    'an edge to the name of END',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', 'END'],
        ],
      ),
    /"a" to "END", which is not a node; write END without quotes, which you import$/,
  ],
  [
    'an edge from the name of START',
    () =>
      compiled(
        ['a'],
        [
          ['start', 'a'],
          ['a', END],
        ],
      ),
    /starts at "start", which is not a node; write START without quotes, which you import$/,
  ],
  [
    'an edge to nowhere',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', 'gone'],
        ],
      ),
    /"a" to "gone"/,
  ],
  [
    'an edge from nowhere',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', END],
          ['gone', END],
        ],
      ),
    /"gone"/,
  ],
  [
    'an edge twice',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', END],
          ['a', END],
        ],
      ),
    /"a" to .* already/,
  ],
  [
    'an edge back to START',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', START],
        ],
      ),
    /"a"/,
  ],
  [
    'an edge from END',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', END],
          [END, 'a'],
        ],
      ),
    /"a"/,
  ],
  [
    'a cycle without a way out',
    () =>
      compiled(
        ['a', 'b', 'c'],
        [
          [START, 'a'],
          ['a', 'b'],
          ['b', ['a', 'c']],
          ['c', END],
        ],
      ),
    /"a" is on a cycle .*: a → b → a$/,
  ],
  [
    'a cycle that every route leads round',
    () =>
      any()
        .addNode('a', same)
        .addNode('b', same)
        .addNode('c', same)
        .addEdge(START, 'a')
        .addEdge('a', ['b', 'c'])
        .addConditionalEdges('b', () => 'x', { x: 'a', y: ['c', 'a'] })
        .addEdge('c', END)
        .compile(),
    /"a" is on a cycle .*: a → b → a$/,
  ],
  [
    'a node that only goes round',
    () =>
      compiled(
        ['a', 'b'],
        [
          [START, ['a', 'b']],
          ['a', END],
          ['b', 'b'],
        ],
      ),
    /"b"/,
  ],
  [
    'a join of one',
    () =>
      compiled(
        ['a'],
        [
          [START, 'a'],
          ['a', 'j'],
          ['j', END],
        ],
        ['j'],
      ),
    /join "j"/,
  ],
  ['a name twice', () => compiled(['a', 'a'], []), /two nodes have the name "a"/],
  ['an invalid name', () => compiled(['a b'], []), /node "a b"/],
  ['a reserved name', () => compiled([START], []), /node "__start__"/],
  ['a node that is nothing', () => new StateGraph({ name: 'g' }).addNode('a', 5 as never), /node "a".*function/],
  ['an option of a node that there is not', () => node('a', same, { retries: 2 } as never), /node "a".*"retries"/],
  ['a retry without sense', () => node('a', same, { retry: { maxAttempts: 0 } }), /node "a".*maxAttempts/],
  ['a timeout without sense', () => node('a', same, { timeoutMs: 0 }), /node "a".*timeoutMs/],
  [
    'an option of compile that there is not',
    () => new StateGraph({ name: 'g' }).compile({ maxLoops: 1 } as never),
    /"maxLoops"/,
  ],
  ['a bound without sense', () => new StateGraph({ name: 'g' }).compile({ maxSteps: 0 }), /maxSteps/],
  [
    'an invalid channel',
    () => new StateGraph({ name: 'g', channels: { c: z.number() as never } }),
    /"c" is not a channel/,
  ],
  ['an option of a channel that there is not', () => channel(z.number(), { reduce: replace } as never), /"reduce"/],
  ['an invalid reducer', () => channel(z.number(), { reducer: 5 as never }), /reducer/],
  [
    'a retry that waits for ever',
    () => node('a', same, { retry: { maxAttempts: 2, maxDelayMs: Infinity } }),
    /maxDelayMs/,
  ],
  [
    'a retry that waits longer than timers do',
    () => node('a', same, { retry: { maxAttempts: 2, initialDelayMs: 3e9 } }),
    /initialDelayMs/,
  ],
  [
    'a backoff without bound',
    () => node('a', same, { retry: { maxAttempts: 2, backoffFactor: Infinity } }),
    /backoffF/,
  ],
  [
    'options for what is a node already',
    () => any().addNode(node('a', same) as never, { timeoutMs: 5 } as never),
    /"a"/,
  ],
  [
    'an edge to a value that is not a name',
    () => any().addEdge(START, 5 as never),
    /edge from START: .* write addEdge\(START, 'draft'\)$/,
  ],
  ['an edge from START to an unknown node', () => compiled(['a'], [[START, 'b']]), /an edge leads from START to "b"/],
  ['an edge to nothing', () => any().addEdge('a', []), /"a"/],
  ['a route to nothing', () => any().addRoutes('a', { on: [] }), /"a"/],
  [
    'a default that its schema refuses',
    () => one({ c: channel(z.number(), { default: 'x' as never }) }),
    /default.*"c"/,
  ],
  [
    'an agent whose outputKey is a channel',
    () => one({ c: channel(z.string(), { stateKey: 'draft' }) }, new LlmAgent({ name: 'llm', outputKey: 'draft' })),
    /node "n".*"draft".*channel "c"/,
  ],
  ['an option of a graph that there is not', () => new StateGraph({ name: 'g', state: {} } as never), /"state"/],
])('%s is a configuration error that names the faulty part', (_, make, message) => {
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('two routers, or routes without one, throw a ConfigurationError that names the node', () => {
  const graph = () => new StateGraph({ name: 'g' }).addNode('a', same);
  expect(() =>
    graph()
      .addConditionalEdges('a', () => 'x', { x: END })
      .addRoutes('a', { x: END }),
  ).toThrow(/"a" has routes already/);
  expect(() => graph().addRoutes('a', {})).toThrow(/routes of "a": expected at least one route, got none/);
  expect(() => graph().addConditionalEdges('a', undefined as never, { x: END })).toThrow(/router of "a"/);
});

test('compile accepts a cycle that a route leaves', () => {
  const graph = new StateGraph({ name: 'g' })
    .addNode('a', same)
    .addNode('b', same)
    .addEdge(START, 'a')
    .addEdge('a', 'b');
  expect(() => graph.addConditionalEdges('b', () => 'on', { on: END, back: 'a' }).compile()).not.toThrow();
});

test('compile checks a long chain in linear time', () => {
  const length = 8000;
  const graph = new StateGraph<Channels, AnyNodes>({ name: 'g' });
  for (let index = 0; index < length; index++)
    graph.addNode(`n${index}`, same).addEdge(index === 0 ? START : `n${index - 1}`, `n${index}`);
  expect(() => graph.addEdge(`n${length - 1}`, END).compile()).not.toThrow();
});

test('a compiled graph does not change when its builder is used further', () => {
  const routed = any().addNode('a', same).addEdge(START, 'a').addEdge('a', END).compile();
  const before = any().addNode('a', same).addEdge(START, 'a').addEdge('a', END);
  const plan = before.compile();
  before.addNode('b', same).addEdge('a', 'b').addEdge('b', END);
  expect(plan.toMermaid()).toBe(routed.toMermaid());
  expect(before.compile().toMermaid()).not.toBe(routed.toMermaid());
});
