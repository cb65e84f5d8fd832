import { ConfigurationError } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { expect, test } from 'vitest';
import { type AnyNodes, type Channels, DEFAULT_ROUTE, END, type GraphAgent, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

const same = (input: unknown): unknown => input;

/** A graph of a function, an agent and a join, before its routes. */
const routed = () =>
  new StateGraph<Channels, AnyNodes>({ name: 'g' })
    .addNode('a', same)
    .addNode('agent', new LlmAgent({ name: 'llm' }))
    .addJoin('join')
    .addEdge(START, ['a', 'agent'])
    .addEdge('a', 'join');

test.each<[string, () => unknown, RegExp]>([
  ['a list in the place of routes', () => routed().addConditionalEdges('a', () => 'b', ['b', END] as never), /"a"/],
  ['nothing in the place of routes', () => routed().addRoutes('a', undefined as never), /"a"/],
  ['null in the place of routes', () => routed().addRoutes('a', null as never), /"a"/],
  [
    'a route that leads to one node twice',
    () => routed().addRoutes('a', { x: ['join', 'join'] }),
    /"a" .*"join" twice/,
  ],
  ['an edge to one node twice', () => routed().addEdge('agent', ['join', 'join']), /"agent" .*"join" twice/],
  ['routes from START, which sets none', () => routed().addRoutes(START, { x: 'a' }), /START.*addCond/],
  [
    'routes from an agent, which sets none',
    () => routed().addRoutes('agent', { x: END }).compile(),
    /"agent".*DEFAULT/,
  ],
  [
    'routes from a join without a function',
    () => routed().addEdge('agent', 'join').addRoutes('join', { x: END }).compile(),
    /"join".*DEFAULT/,
  ],
])('%s is a configuration error that names the node', (_, make, message) => {
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('a node that sets no route may have routes if one is the DEFAULT_ROUTE', () => {
  const graph = routed()
    .addEdge('agent', 'join')
    .addRoutes('join', { [DEFAULT_ROUTE]: END });
  expect(() => graph.compile()).not.toThrow();
});

async function answerOf(agent: GraphAgent): Promise<unknown> {
  const { run } = await scenario({ agent });
  const events = await run();
  return JSON.parse(events.at(-1)?.content?.parts?.[0]?.text ?? '');
}

test('a join and the output hold the input of the graph under the name START', async () => {
  const agent = new StateGraph({ name: 'g' })
    .addNode('a', (input: string) => `${input}!`)
    .addJoin('join', (given) => [given[START], given['a']])
    .addEdge(START, ['a', 'join', END])
    .addEdge('a', 'join')
    .addEdge('join', END)
    .compile();
  expect(await answerOf(agent)).toEqual({ [START]: 'hi', join: ['hi', 'hi!'] });
});
