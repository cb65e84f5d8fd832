import { ConfigurationError, type Event } from '@eventloom/core';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type AnyChannel, channel, END, NodeError, START, StateGraph } from './index.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

/** Runs a graph in a session with this state: a tool that writes `written` to it, and a function that reads the channel. */
async function run(held: AnyChannel, state: object, written?: unknown): Promise<Event[]> {
  const tool = new FunctionTool({
    name: 'write',
    description: '',
    execute: (_, { state: given }) => {
      if (written !== undefined) given.set('tone', written);
      return 'written';
    },
  });
  const agent = new StateGraph({ name: 'g', channels: { held } })
    .addNode('args', () => ({}))
    .addNode('write', tool)
    .addNode('read', (_: unknown, context) => context.state.held ?? 'nothing')
    .addEdge(START, 'args')
    .addEdge('args', 'write')
    .addEdge('write', 'read')
    .addEdge('read', END)
    .compile();
  return (await scenario({ agent, state: { ...state } })).run();
}

const answerOf = (events: readonly Event[]) => events.at(-1)?.content?.parts?.[0]?.text;
const tone = channel(z.string(), { stateKey: 'tone' });

test('a session value that does not match the channel throws an error that names the channel', async () => {
  const running = run(tone, { tone: 5 });
  await expect(running).rejects.toThrow(ConfigurationError);
  await expect(running).rejects.toThrow(/graph "g".*"tone".*channel "held"/);
});

test('a value that others write during the run is checked before a node reads it', async () => {
  await expect(run(tone, { tone: 'dry' }, 5)).rejects.toThrow(/channel "held"/);
  expect(answerOf(await run(tone, { tone: 'dry' }, 'warm'))).toBe('warm');
});

test('a channel may have no value', async () => {
  expect(answerOf(await run(tone, {}))).toBe('nothing');
});

test('a default that an asynchronous schema refuses throws an error that names the channel', async () => {
  const slow = z.string().refine((text) => Promise.resolve(text !== 'bad'));
  const running = run(channel(slow, { default: 'bad' }), {});
  await expect(running).rejects.toThrow(ConfigurationError);
  await expect(running).rejects.toThrow(/graph "g": .*channel "held"/);
});

test('a schema that changes its own output is rejected for a channel with a stateKey', async () => {
  const louder = z.string().transform((text) => `${text}!`);
  const writing = (options: object) => {
    const agent = new StateGraph({ name: 'g', channels: { held: channel(louder, options) } })
      .addNode('write', (text: string, context) => context.update({ held: text }), { writes: ['held'] })
      .addNode('read', (_: unknown, context) => context.state.held)
      .addEdge(START, 'write')
      .addEdge('write', 'read')
      .addEdge('read', END)
      .compile();
    return scenario({ agent }).then(({ run: start }) => start());
  };
  expect(answerOf(await writing({}))).toBe('hi!');
  const running = writing({ stateKey: 'tone' });
  await expect(running).rejects.toThrow(NodeError);
  await expect(running).rejects.toThrow(/channel "held".*a stateKey/);
});
