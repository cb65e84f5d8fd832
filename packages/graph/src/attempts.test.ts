import {
  BaseAgent as Base,
  ConfigurationError,
  type Event,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { expect, test } from 'vitest';
import { END, NodeError, START, StateGraph, StepLimitError } from './index.ts';
import { nodeTimer } from './fixtures/node-timer.ts';
import { answerOf, setUp } from './fixtures/attempted-graph.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

test('a node that fails is tried again, after waits that grow, and no longer than they may', async () => {
  const { run, platform } = await setUp(
    (_, { attempt }) => {
      if (attempt < 5) throw new TypeError(`attempt ${attempt}`);
      return `attempt ${attempt}`;
    },
    { retry: { maxAttempts: 5, initialDelayMs: 100, backoffFactor: 3, maxDelayMs: 500 } },
  );
  const running = run();
  const waits: number[] = [];
  for (let failed = 0; failed < 4; failed++) {
    const wait = await nodeTimer(platform);
    waits.push(wait);
    platform.advance(wait);
  }
  expect(answerOf(await running)).toBe('attempt 5');
  expect(waits).toEqual([100, 300, 500, 500]);
});

test('what is left after the last attempt names the node, and has what it threw as its cause', async () => {
  const cause = new TypeError('broken');
  let attempts = 0;
  const { run } = await setUp(
    () => {
      attempts++;
      throw cause;
    },
    { retry: { maxAttempts: 3, initialDelayMs: 0 } },
  );
  const error: unknown = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NodeError);
  expect(error).toMatchObject({ code: 'NODE', nodeName: 'work', message: 'node "work": broken', cause });
  expect(attempts).toBe(3);
});

test('a node without retry, and a failure that is not worth it, are tried once', async () => {
  for (const retry of [undefined, { maxAttempts: 9, retryOn: () => false }]) {
    let attempts = 0;
    const { run } = await setUp(
      () => {
        attempts++;
        throw new TypeError('broken');
      },
      retry ? { retry } : {},
    );
    await expect(run()).rejects.toThrow('broken');
    expect(attempts).toBe(1);
  }
});

test('a loop that has no end comes to the bound of the graph', async () => {
  let rounds = 0;
  const agent = new StateGraph({ name: 'g' })
    .addNode('round', () => ++rounds)
    .addEdge(START, 'round')
    .addConditionalEdges('round', () => 'again', { again: 'round', out: END })
    .compile({ maxSteps: 7 });
  const { run } = await scenario({ agent });
  const running = run();
  const error: unknown = await running.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StepLimitError);
  expect((error as Error).message).toMatch(/"g".*7 steps.*"round"/);
  expect(rounds).toBe(7);
});

test('what an agent said before it failed is passed on before the next attempt, and its answer once', async () => {
  let attempts = 0;
  class Flaky extends Base {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      attempts++;
      yield context.createEvent({
        author: this.name,
        content: { role: 'model', parts: [{ text: `try ${attempts}` }] },
      });
      if (attempts === 1) throw new TypeError('broken');
    }
  }
  const { run } = await setUp(new Flaky({ name: 'flaky' }), { retry: { maxAttempts: 2, initialDelayMs: 0 } });
  const texts = (await run()).flatMap(({ content }) => content?.parts?.map(({ text }) => text) ?? []);
  expect(texts).toEqual(['try 1', 'try 2']);
});

test('mistakes in the set-up, and the end of the run, are not tried again', async () => {
  for (const error of [new ConfigurationError('set up badly'), new RunAbortedError('over')]) {
    let attempts = 0;
    const { run } = await setUp(
      () => {
        attempts++;
        throw error;
      },
      { retry: { maxAttempts: 3, initialDelayMs: 0, retryOn: () => true } },
    );
    await expect(run()).rejects.toThrow(error.message);
    expect(attempts).toBe(1);
  }
});

test('attempts of an agent are worlds of their own', async () => {
  let attempts = 0;
  class Flaky extends Base {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      yield context.createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'try' }] } });
      if (++attempts === 1) throw new TypeError('broken');
    }
  }
  const { run } = await setUp(new Flaky({ name: 'flaky' }), { retry: { maxAttempts: 2, initialDelayMs: 0 } });
  const branches = (await run()).flatMap(({ author, branch }) => (author === 'flaky' ? [branch] : []));
  expect(branches).toHaveLength(2);
  expect(new Set(branches).size).toBe(2);
});

test('whether a failure is worth another attempt may be found out asynchronously', async () => {
  let attempts = 0;
  const { run } = await setUp(
    () => {
      attempts++;
      throw new TypeError('no');
    },
    { retry: { maxAttempts: 5, initialDelayMs: 0, retryOn: async () => false } },
  );
  await expect(run()).rejects.toThrow('node "work": no');
  expect(attempts).toBe(1);
});

test('a retryOn that fails is a failure of the node, whose cause is what it was asked about', async () => {
  const cause = new TypeError('first');
  const { run } = await setUp(
    () => {
      throw cause;
    },
    {
      retry: {
        maxAttempts: 5,
        retryOn: () => {
          throw new RangeError('second');
        },
      },
    },
  );
  const thrown: unknown = await run().catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(NodeError);
  expect(thrown).toMatchObject({ message: expect.stringMatching(/node "work".*first.*second/), cause });
});
