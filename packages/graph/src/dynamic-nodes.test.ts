import { describe, expect, test } from 'vitest';
import { node } from './index.ts';
import { setUp } from './fixtures/dynamic-run.ts';
import { outputOf, runsIn } from './fixtures/read-output.ts';

test('runNode distinguishes runs by node name and any key', async () => {
  const p = node('p', (input: string) => `p:${input}`);
  const n = node('n', async (input: string, context) => [input, await context.runNode(p, input, { key: '0' })]);
  const ab = node('a-b', () => 'a-b');
  const a = node('a', () => 'a');
  const { run } = await setUp(async (context) => [
    await context.runNode(n, 'outer', { key: 'x' }),
    await context.runNode(n, 'leaf', { key: 'x~p-0' }),
    await context.runNode(a, 1, { key: 'b-0' }),
    await context.runNode(ab, 1, { key: '0' }),
    await context.runNode(a, 1, { key: 'b+0' }),
    await context.runNode(a, 1, { key: 'b/0' }),
  ]);
  const events = await run();
  expect(outputOf(events)).toEqual([['outer', 'p:outer'], ['leaf', 'p:leaf'], 'a', 'a-b', 'a', 'a']);
  expect(new Set(runsIn(events)).size).toBe(events.length);
});

test('runNode throws an error that names both nodes when a key is used twice', async () => {
  const leaf = node('leaf', () => 1);
  const { run } = await setUp((context) =>
    Promise.all([context.runNode(leaf, 1, { key: 'x' }), context.runNode(leaf, 2, { key: 'x' })]),
  );
  await expect(run()).rejects.toThrow(/node "outer": runNode: the key "x" of "leaf" is used twice; write another key/);
});

test('runNode throws when a completed run had another input', async () => {
  let order = [1, 2];
  const leaf = node('leaf', (input: number) => `leaf ${input}`);
  const { run, answer } = await setUp(async (context) => {
    const outputs = await Promise.all(order.map((each) => context.runNode(leaf, each)));
    return [outputs, await context.requestInput()];
  });
  const asked = await run();
  order = [2, 1];
  await expect(answer(asked, 'yes')).rejects.toThrow(/node "leaf".*another input/);
});

test('completed runs with keys are found in any order of the calls', async () => {
  let order = [1, 2];
  const ran: number[] = [];
  const leaf = node('leaf', (input: number) => {
    ran.push(input);
    return `leaf ${input}`;
  });
  const { run, answer } = await setUp(async (context) => {
    const outputs = await Promise.all(
      order.map(async (each) => context.runNode(leaf, { each, by: 'key' } as never, { key: `k${each}` })),
    );
    return [outputs.length, await context.requestInput()];
  });
  const asked = await run();
  order = [2, 1];
  expect(outputOf(await answer(asked, 'yes'))).toEqual([2, 'yes']);
  expect(ran).toHaveLength(2);
});

test('a question without a key is identified by its number', async () => {
  const { run, answer } = await setUp(async (context) => [
    await context.requestInput({ message: 'Your name?' }),
    await context.requestInput({ message: 'Your town?' }),
  ]);
  const first = await answer(await run(), 'Bob');
  expect(outputOf(first)).toBeUndefined();
  expect(outputOf(await answer(first, 'Rome'))).toEqual(['Bob', 'Rome']);
});

test('requestInput throws when a key is used twice', async () => {
  const { run } = await setUp((context) =>
    Promise.all([context.requestInput({ key: 'x' }), context.requestInput({ key: 'x' })]),
  );
  await expect(run()).rejects.toThrow(/node "outer": requestInput: the key "x" is used twice; write another key/);
});

test('a node with several questions runs again when all are answered', async () => {
  let runs = 0;
  const { run, answer } = await setUp((context) => {
    runs++;
    return Promise.all([context.requestInput(), context.requestInput()]);
  });
  const asked = await run();
  expect(outputOf(await answer(asked, 1))).toBeUndefined();
  expect(runs).toBe(1);
  expect(outputOf(await answer(asked, 2, 1))).toEqual([1, 2]);
  expect(runs).toBe(2);
});

test('inputs that differ only in key order count as equal', async () => {
  const ran: string[] = [];
  const inner = node('inner', (input: object) => void ran.push(Object.keys(input).join()));
  const { run, answer } = await setUp(async (context) => {
    await context.runNode(inner, ran.length === 0 ? { a: 1, b: { c: 2, d: 3 } } : { b: { d: 3, c: 2 }, a: 1 });
    return context.requestInput();
  });
  expect(outputOf(await answer(await run(), 'yes'))).toBe('yes');
  expect(ran).toEqual(['a,b']);
});

// An unhandled rejection in one of these tests fails the whole run of the tests.
describe('a run or a question that its node does not await', () => {
  const bad = node('bad', () => {
    throw new Error('bad');
  });
  const ask = node('ask', (_input, context) => context.requestInput());

  test('may fail, and the platform gets its error', async () => {
    const { run, platform } = await setUp((context) => {
      void context.runNode(bad, 1);
      return 'done';
    });
    expect(outputOf(await run())).toBe('done');
    await expect(platform.drain()).rejects.toThrow('node "bad": bad');
  });

  test('may fail while another run asks a person', async () => {
    const { run } = await setUp(async (context) => {
      const background = context.runNode(bad, 1);
      return [await context.runNode(ask, 1), await background];
    });
    expect((await run()).flatMap(({ longRunningToolIds }) => longRunningToolIds ?? [])).toHaveLength(1);
  });

  test('may ask a person, and the node waits for the answer', async () => {
    const { run, answer } = await setUp(async (context) => {
      void context.runNode(ask, 1);
      return Promise.resolve('done');
    });
    expect(outputOf(await answer(await run(), 'yes'))).toBe('done');
  });

  test('may be a question of the node itself, which waits for the answer', async () => {
    const { run, answer } = await setUp(async (context) => {
      void context.requestInput();
      return Promise.resolve('done');
    });
    expect(outputOf(await answer(await run(), 'yes'))).toBe('done');
  });
});
