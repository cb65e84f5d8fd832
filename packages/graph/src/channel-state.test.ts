import { BaseAgent, type Event, type InvocationContext } from '@eventloom/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { channel, END, START, StateGraph } from './index.ts';
import { outputOf } from './fixtures/read-output.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

test.each([undefined, 'shared'])('null is stored as a value, under the stateKey %s', async (stateKey) => {
  const seen: unknown[] = [];
  const maybe = channel(z.string().nullable(), {
    default: 'old',
    reducer: (current, update: string | null) => {
      seen.push(['reducer', current]);
      return update;
    },
    ...(stateKey === undefined ? {} : { stateKey }),
  });
  const agent = new StateGraph({ name: 'g', channels: { maybe } })
    .addNode('clear', (_: unknown, context) => context.update({ maybe: null }), { writes: ['maybe'] })
    .addNode(
      'twice',
      (_: unknown, context) => {
        seen.push(['node', context.state.maybe]);
        context.update({ maybe: null });
        context.update({ maybe: 'new' });
      },
      { writes: ['maybe'] },
    )
    .addEdge(START, 'clear')
    .addConditionalEdges(
      'clear',
      (_output, { state }) => {
        seen.push(['router', state.maybe]);
        return 'on';
      },
      { on: 'twice' },
    )
    .addEdge('twice', END)
    .compile();
  await (await scenario({ agent, resumable: true })).run();
  expect(seen).toEqual([
    ['reducer', 'old'],
    ['router', null],
    ['node', null],
    ['reducer', null],
    ['reducer', null],
  ]);
});

test('null is accepted as a default', async () => {
  const maybe = channel(z.string().nullable(), { default: null, stateKey: 'shared' });
  const agent = new StateGraph({ name: 'g', channels: { maybe } })
    .addNode('read', (_: unknown, context) => context.state)
    .addEdge(START, 'read')
    .addEdge('read', END)
    .compile();
  expect(outputOf(await (await scenario({ agent, resumable: true })).run())).toEqual({ maybe: null });
});

test('a default does not replace the value that the session holds', async () => {
  const shared = channel(z.number(), { default: 0, stateKey: 'user:count' });
  const agent = new StateGraph({ name: 'g', channels: { shared } })
    .addNode(
      'count',
      (_: unknown, context) => {
        context.update({ shared: context.state.shared + 1 });
        return context.state.shared;
      },
      { writes: ['shared'] },
    )
    .addEdge(START, 'count')
    .addEdge('count', END)
    .compile();
  const { run, session } = await scenario({ agent, resumable: true });
  expect([outputOf(await run()), outputOf(await run())]).toEqual([0, 1]);
  expect((await session()).state).toMatchObject({ 'user:count': 2 });
  expect(outputOf(await (await scenario({ agent, state: { 'user:count': 7 }, resumable: true })).run())).toBe(7);
});

test.each([undefined, 'shared'])(
  'a node cannot modify the values that it reads, under the stateKey %s',
  async (stateKey) => {
    const list = channel(z.array(z.string()), { default: ['a'], ...(stateKey === undefined ? {} : { stateKey }) });
    let thrown: unknown;
    const agent = new StateGraph({ name: 'g', channels: { list } })
      .addNode('bad', (_: unknown, context) => {
        try {
          context.state.list.push('b');
        } catch (error) {
          thrown = error;
        }
      })
      .addNode('read', (_: unknown, context) => context.state.list)
      .addEdge(START, ['bad', 'read'])
      .addEdge('bad', END)
      .addEdge('read', END)
      .compile();
    const { run, session } = await scenario({ agent, resumable: true });
    expect(outputOf(await run())).toEqual({ bad: null, read: ['a'] });
    expect(thrown).toBeInstanceOf(TypeError);
    // The session's own state is not frozen either.
    expect(Object.isFrozen((await session()).state['shared'] ?? [])).toBe(false);
  },
);

test('a node reads the state at the beginning of the step when it runs again with an answer', async () => {
  class Writer extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      yield context.createEvent({ author: this.name, actions: { stateDelta: { theirs: 'new' } } });
    }
  }
  const channels = {
    own: channel(z.string(), { default: 'old' }),
    shared: channel(z.string(), { default: 'old', stateKey: 'shared' }),
    theirs: channel(z.string(), { stateKey: 'theirs' }),
  };
  const agent = new StateGraph({ name: 'g', channels })
    .addNode('writes', (_: unknown, context) => context.update({ own: 'new', shared: 'new' }), {
      writes: ['own', 'shared'],
    })
    .addNode('writer', new Writer({ name: 'writer' }))
    .addNode('asks', async (_: unknown, context) => {
      await context.requestInput();
      return context.state;
    })
    .addJoin('all', (input, context) => [input['asks'], context.state])
    .addEdge(START, ['writes', 'writer', 'asks'])
    .addEdge('writes', 'all')
    .addEdge('writer', 'all')
    .addEdge('asks', 'all')
    .addEdge('all', END)
    .compile();
  const { run } = await scenario({ agent, state: { theirs: 'old' }, resumable: true });
  const id = (await run()).flatMap(({ longRunningToolIds = [] }) => longRunningToolIds)[0] ?? '';
  const answered = await run([{ functionResponse: { id, response: { result: 1 } } }]);
  const old = { own: 'old', shared: 'old', theirs: 'old' };
  expect(outputOf(answered)).toEqual([old, { own: 'new', shared: 'new', theirs: 'new' }]);
});
