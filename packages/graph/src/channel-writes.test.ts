import { expect, test } from 'vitest';
import { z } from 'zod';
import { append, channel, END, node, START, stateAfter, StateGraph } from './index.ts';
import { outputOf } from './fixtures/read-output.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

test('two runs of a step that write a channel without a reducer throw an error that names the node', async () => {
  for (const stateKey of [undefined, 'shared']) {
    const last = channel(z.number(), stateKey === undefined ? {} : { stateKey });
    const agent = new StateGraph({ name: 'g', channels: { last } })
      .addNode('a', () => 1)
      .addNode('b', () => 2)
      .addNode('each', (input: number, context) => context.update({ last: input }), { writes: ['last'] })
      .addEdge(START, ['a', 'b'])
      .addEdge('a', 'each')
      .addEdge('b', 'each')
      .addEdge('each', END)
      .compile();
    await expect((await scenario({ agent, resumable: true })).run()).rejects.toThrow(
      /node "each": writes the channel "last".*reducer/,
    );
  }
});

test('one run and its inner runs may write a channel without a reducer several times in a step', async () => {
  const last = channel(z.number(), { default: 0 });
  const inner = node<number, void, unknown, { last: number }>('inner', (input, context) =>
    context.update({ last: input }),
  );
  const agent = new StateGraph({ name: 'g', channels: { last } })
    .addNode(
      'write',
      async (_: unknown, context) => {
        for (const each of [1, 2]) await context.runNode(inner, each);
        context.update({ last: 3 });
        context.update({ last: context.state.last + 4 });
      },
      { writes: ['last'] },
    )
    .addNode('read', (_: unknown, context) => context.state.last)
    .addEdge(START, 'write')
    .addConditionalEdges('write', (_output, { state }) => (state.last < 8 ? 'again' : 'on'), {
      again: 'write',
      on: 'read',
    })
    .addEdge('read', END)
    .compile();
  expect(outputOf(await (await scenario({ agent, resumable: true })).run())).toBe(8);
});

test("a function must write a channel's stateKey with update, not through the session's state", async () => {
  const channels = { mine: channel(z.array(z.string()), { reducer: append, stateKey: 'mine' }) };
  const agent = new StateGraph({ name: 'g', channels })
    .addNode('bad', (_: unknown, { callbackContext }) => callbackContext.state.set('mine', ['x']))
    .addEdge(START, 'bad')
    .addEdge('bad', END)
    .compile();
  await expect((await scenario({ agent, resumable: true })).run()).rejects.toThrow(
    /node "bad": wrote "mine", which is the channel "mine"/,
  );
});

test('a growing list stores only appended items, and is whole in the history and after a resume', async () => {
  const ROUNDS = 60;
  const channels = { log: channel(z.array(z.object({ round: z.number() })), { reducer: append, default: [] }) };
  const agent = new StateGraph({ name: 'g', channels })
    .addNode(
      'round',
      (_: unknown, context) => {
        context.update({ log: [{ round: context.step }] });
        context.update({ log: [] });
      },
      { writes: ['log'] },
    )
    .addNode('ask', async (_: unknown, context) => {
      await context.requestInput();
      return context.state.log;
    })
    .addNode(
      'cut',
      (input: { round: number }[], context) => {
        context.update({ log: [] });
        return [input, context.state.log];
      },
      { writes: ['log'] },
    )
    .addEdge(START, 'round')
    .addConditionalEdges('round', (_output, { state }) => (state.log.length < ROUNDS ? 'again' : 'on'), {
      again: 'round',
      on: 'ask',
    })
    .addEdge('ask', 'cut')
    .addEdge('cut', END)
    .compile();
  const { run, session } = await scenario({ agent, resumable: true });
  const asked = await run();
  const sizes = asked.map(({ actions }) => JSON.stringify(actions).length);
  expect(Math.max(...sizes.slice(0, -1))).toBeLessThan(200);
  const id = asked.at(-1)?.longRunningToolIds?.[0] ?? '';
  const events = await run([{ functionResponse: { id, response: { result: 1 } } }]);
  const whole = Array.from({ length: ROUNDS }, (_, index) => ({ round: index + 1 }));
  expect(outputOf(events)).toEqual([whole, whole]);
  const [history] = agent.history({
    events: (await session()).events ?? [],
    invocationId: asked[0]?.invocationId ?? '',
  });
  expect(history?.steps[2]).toMatchObject({ changed: {}, added: { log: [{ round: 3 }] } });
  expect(history && stateAfter(history, 3)).toEqual({ log: whole.slice(0, 3) });
  expect(history?.state).toEqual({ log: whole });
});

test('a list that changes otherwise is stored whole', async () => {
  const list = channel(z.array(z.number()), { reducer: (_current, update: number[]) => update, default: [1, 2] });
  const agent = new StateGraph({ name: 'g', channels: { list } })
    .addNode(
      'next',
      (_: unknown, context) => {
        const { list: held } = context.state;
        context.update({ list: { 2: [2, 1, 3], 3: [2], 1: [] }[held.length] ?? [7] });
        return held;
      },
      { writes: ['list'] },
    )
    .addEdge(START, 'next')
    .addConditionalEdges('next', (_output, { step }) => (step < 5 ? 'again' : 'out'), { again: 'next', out: END })
    .compile({ maxSteps: 9 });
  const events = await (await scenario({ agent, resumable: true })).run();
  const held = events.flatMap(({ author, actions }) => (author === 'next' ? [actions.agentState?.['output']] : []));
  expect(held).toEqual([[1, 2], [2, 1, 3], [2], [], [7]]);
});

test('with a reducer, a schema that changes its own output throws at the first write an error that names channel and node', async () => {
  const shout = z.array(z.string().transform((text) => `${text}!`));
  const agent = new StateGraph({ name: 'g', channels: { all: channel(shout, { reducer: append, default: [] }) } })
    .addNode('say', (_: unknown, context) => context.update({ all: ['x'] }), { writes: ['all'] })
    .addEdge(START, 'say')
    .addEdge('say', END)
    .compile();
  await expect((await scenario({ agent, resumable: true })).run()).rejects.toThrow(
    /node "say": the channel "all" has a schema that changes/,
  );
});

test('a schema transforms a write once; with a reducer, it transforms the reduced value', async () => {
  const channels = {
    last: channel(z.string().transform((text) => `${text}!`)),
    all: channel(z.array(z.object({ text: z.string().trim(), size: z.number().default(1) })), {
      reducer: (current, update: { text: string }): never => [...(current ?? []), update] as never,
      default: [],
    }),
  };
  const agent = new StateGraph({ name: 'g', channels })
    .addNode(
      'say',
      (_: unknown, context) => {
        context.update({ last: 'x', all: { text: ' x ' } });
        context.update({ all: { text: 'y' } });
      },
      { writes: ['last', 'all'] },
    )
    .addNode('read', (_: unknown, context) => context.state)
    .addEdge(START, 'say')
    .addEdge('say', 'read')
    .addEdge('read', END)
    .compile();
  const all = [
    { text: 'x', size: 1 },
    { text: 'y', size: 1 },
  ];
  expect(outputOf(await (await scenario({ agent, resumable: true })).run())).toEqual({ last: 'x!', all });
});

test('a schema with different input and output types takes defaults and writes as input', async () => {
  const length = channel(
    z.string().transform((text) => text.length),
    { default: 'four' },
  );
  const agent = new StateGraph({ name: 'g', channels: { length } })
    .addNode(
      'say',
      (_: unknown, context) => {
        context.update({ length: 'sixsix' });
        return context.state.length;
      },
      { writes: ['length'] },
    )
    .addNode('read', (before: number, context) => [before, context.state.length])
    .addEdge(START, 'say')
    .addEdge('say', 'read')
    .addEdge('read', END)
    .compile();
  expect(outputOf(await (await scenario({ agent, resumable: true })).run())).toEqual([4, 6]);
});
