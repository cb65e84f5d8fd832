import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  type AnyNodes,
  type Channels,
  channel,
  END,
  isGraphAgent,
  node,
  type NodeOptions,
  START,
  StateGraph,
} from './index.ts';

const same = (input: unknown): unknown => input;

/** A node whose options the compiler would refuse. */
const nodeWith = (options: unknown) => () => node('a', same, options as NodeOptions);

/** A graph of one node, compiled with options that the compiler would refuse. */
const compiledWith = (options: unknown) => () =>
  new StateGraph({ name: 'g' })
    .addNode('n', same)
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile(options as object);

/** A graph of one node with channels that the compiler would refuse. */
const graphWith = (channels: unknown) => () =>
  new StateGraph<Channels, AnyNodes>({ name: 'g', channels: channels as Channels })
    .addNode('n', same)
    .addEdge(START, 'n')
    .addEdge('n', END)
    .compile();

const ofKey = (stateKey: unknown) => () => graphWith({ c: channel(z.string(), { stateKey: stateKey as string }) })();

test.each<[string, () => unknown, RegExp]>([
  ['options of a node that are not an object', nodeWith(5), /node "a".*object/],
  ['options of a node that are nothing', nodeWith(null), /node "a".*object/],
  ['a timeout as text', nodeWith({ timeoutMs: '10' }), /node "a": timeoutMs/],
  ['a retry that is a number', nodeWith({ retry: 3 }), /node "a": retry/],
  ['a delay as text', nodeWith({ retry: { maxAttempts: 2, initialDelayMs: '5' } }), /node "a".*initialDelayMs/],
  ['attempts as text', nodeWith({ retry: { maxAttempts: '2' } }), /node "a".*maxAttempts/],
  ['writes as one text', nodeWith({ writes: 'abc' }), /node "a": writes/],
  ['writes that are not text', nodeWith({ writes: [3] }), /node "a": writes/],
  ['lifecycle events as text', compiledWith({ nodeLifecycleEvents: 'yes' }), /graph "g": compile: nodeLifecycleEvents/],
  ['a bound as text', compiledWith({ maxConcurrency: '2' }), /graph "g": compile: maxConcurrency/],
  ['options of compile that are nothing', compiledWith(null), /graph "g": compile.*object/],
  ['a graph of nothing', () => new StateGraph(undefined as never), /StateGraph.*object/],
  [
    'a graph with a state',
    () => new StateGraph({ name: 'g', state: {} } as never),
    /no option "state"; write channels: \{/,
  ],
  [
    'a channel of a function',
    () => channel((() => 'x') as never),
    /channel: expected a schema, got a function; write z/,
  ],
  ['options of a channel that are nothing', () => channel(z.string(), null as never), /channel.*object/],
  ['channels as a list', graphWith([channel(z.string())]), /graph "g": channels/],
  ['a channel that nobody could read', graphWith({ ['__proto__']: channel(z.string()) }), /"__proto__"/],
  ['an empty stateKey', ofKey(''), /channel "c".*stateKey/],
  ['a stateKey that is a number', ofKey(3), /channel: stateKey/],
  ['a stateKey with nothing but its scope', ofKey('user:'), /channel "c".*stateKey/],
  [
    'a default that is not JSON',
    graphWith({ c: channel(z.any(), { default: new Map() }) }),
    /default of channel "c".*JSON/,
  ],
  [
    'a default that a JSON Schema does not let through',
    graphWith({ c: channel({ type: 'object', required: ['n'] }, { default: {} }) }),
    /default of channel "c" does not match its schema: value: Instance does not have required property "n"/,
  ],
])('%s is a configuration error that names the faulty option', (_, make, message) => {
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('assigning the inputSchema of a graph agent throws ConfigurationError with what to write', () => {
  const assign = (): void => void Object.assign(compiledWith({})(), { inputSchema: z.string() });
  expect(assign).toThrow(ConfigurationError);
  expect(assign).toThrow('agent "g": inputSchema cannot be assigned; write new StateGraph({ …, inputSchema })');
});

test('isGraphAgent is false for values other than agents', () => {
  for (const value of [undefined, null, 'g', {}]) expect(isGraphAgent(value as never)).toBe(false);
  expect(isGraphAgent(compiledWith({})())).toBe(true);
});
