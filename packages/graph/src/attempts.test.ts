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

test('a failed node is retried after growing delays, up to maxDelayMs', async () => {
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

test('the error after the last attempt names the node and has the thrown error as its cause', async () => {
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

test('a node without retry, or with a failure that retryOn refuses, runs once', async () => {
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

test('an endless loop throws a StepLimitError', async () => {
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

test('events of a failed agent attempt are passed on before the next attempt, and the answer once', async () => {
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

test('configuration errors and aborted runs are not retried', async () => {
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

test('each attempt of an agent has its own branch', async () => {
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

test('retryOn may be asynchronous', async () => {
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

test('a retryOn that throws fails the node, with the original failure as the cause', async () => {
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
