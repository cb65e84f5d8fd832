import { BaseAgent as Base, type Event, type InvocationContext, ToolTimeoutError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { END, NodeTimeoutError, START, StateGraph } from './index.ts';
import { nodeTimer, settled } from './fixtures/node-timer.ts';
import { answerOf, setUp } from './fixtures/attempted-graph.ts';
import { scenario } from '../../runner/src/fixtures/scenario.ts';

/** An agent that yields nothing until it is stopped. */
class Slow extends Base {
  stopped = false;

  // eslint-disable-next-line require-yield -- the agent yields no event
  protected override async *runAsyncImpl({ abortSignal }: InvocationContext): AsyncGenerator<Event, void, void> {
    await new Promise<void>((resolve) => abortSignal.addEventListener('abort', () => resolve()));
    this.stopped = true;
  }
}

/** An agent that yields nothing and ignores its abort signal. */
class Deaf extends Base {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    await new Promise(() => undefined);
    yield context.createEvent();
  }
}

class Talker extends Base {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield context.createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'said' }] } });
  }
}

test('an attempt that times out is aborted and retried', async () => {
  const aborted: number[] = [];
  const { run, platform } = await setUp(
    (_, { attempt, abortSignal }) => {
      if (attempt === 2) return 'in time';
      abortSignal.addEventListener('abort', () => void aborted.push(attempt));
      return new Promise(() => undefined);
    },
    { timeoutMs: 50, retry: { maxAttempts: 2, initialDelayMs: 7 } },
  );
  const running = run();
  expect(await nodeTimer(platform)).toBe(50);
  platform.advance(50);
  expect(await nodeTimer(platform)).toBe(7);
  expect(aborted).toEqual([1]);
  platform.advance(7);
  expect(answerOf(await running)).toBe('in time');
});

test('the last attempt that times out throws a NodeTimeoutError', async () => {
  const { run, platform } = await setUp(() => new Promise(() => undefined), { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  platform.advance(await nodeTimer(platform));
  expect(await running).toBeInstanceOf(NodeTimeoutError);
});

test('an agent that times out is stopped', async () => {
  const agent = new Slow({ name: 'slow' });
  const { run, platform } = await setUp(agent, { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  platform.advance(await nodeTimer(platform));
  expect(await running).toBeInstanceOf(NodeTimeoutError);
  expect(agent.stopped).toBe(true);
});

test('an agent that times out and ignores its abort is not awaited', async () => {
  const { run, platform } = await setUp(new Deaf({ name: 'deaf' }), { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  platform.advance(await nodeTimer(platform));
  expect(await running).toBeInstanceOf(NodeTimeoutError);
});

test.each([
  ['is stopped, and does not run again, because it may have had its effect', false, 1, '{"error":"interrupted"}'],
  ['runs again if it is idempotent', true, 2, '{"done":2}'],
])('a tool of an attempt that times out %s', async (_title, idempotent, runs, answer) => {
  let ran = 0;
  const aborted: unknown[] = [];
  const tool = new FunctionTool({
    name: 'work',
    description: '',
    idempotent,
    execute: (_, { abortSignal }) => {
      if (++ran === 2) return { done: ran };
      abortSignal.addEventListener('abort', () => void aborted.push(abortSignal.reason));
      return new Promise(() => undefined);
    },
  });
  const { run, platform } = await setUp(async (_, context) => JSON.stringify(await context.runNode(tool, {})), {
    timeoutMs: 50,
    retry: { maxAttempts: 2, initialDelayMs: 7 },
  });
  const running = run();
  platform.advance(await nodeTimer(platform));
  platform.advance(await nodeTimer(platform));
  expect(answerOf(await running)).toBe(answer);
  expect(ran).toBe(runs);
  expect(aborted).toEqual([expect.any(NodeTimeoutError)]);
});

test('a tool of a node fails when it takes longer than its own timeoutMs, and its signal fires', async () => {
  const aborted: unknown[] = [];
  const tool = new FunctionTool({
    name: 'work',
    description: '',
    timeoutMs: 20,
    execute: (_, { abortSignal }) => {
      abortSignal.addEventListener('abort', () => void aborted.push(abortSignal.reason));
      return new Promise(() => undefined);
    },
  });
  const { run, platform } = await setUp((_, context) => context.runNode(tool, {}), { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  expect(await nodeTimer(platform)).toBe(20);
  platform.advance(20);
  expect(await running).toMatchObject({ message: expect.stringContaining('took longer than 20 ms') });
  expect(aborted).toEqual([expect.any(ToolTimeoutError)]);
});

test('time in which a node waits for its turn does not count for timeoutMs', async () => {
  const gate = new Gate();
  const talker = new Talker({ name: 'talker' });
  const agent = new StateGraph({ name: 'g' })
    .addNode('slow', () => gate.pass())
    .addNode('talker', talker, { timeoutMs: 50 })
    .addEdge(START, ['slow', 'talker'])
    .addEdge('slow', END)
    .addEdge('talker', END)
    .compile();
  const { run, platform } = await scenario({ agent });
  const running = run();
  await gate.reached;
  await settled(platform);
  platform.advance(500);
  gate.open();
  expect((await running).some(({ author }) => author === 'talker')).toBe(true);
});

test('time that a node used before it waited for its turn counts for timeoutMs', async () => {
  const working = new Gate();
  const turn = new Gate();
  const after = new Gate();
  class Worker extends Base {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      await working.pass();
      yield context.createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'said' }] } });
      await after.pass(context.abortSignal);
    }
  }
  // An agent's message is a commit of its own: after that the worker begins, and the slow one has the next turn.
  class Waiting extends Base {
    // eslint-disable-next-line require-yield -- the agent yields no event
    protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {
      await turn.pass();
    }
  }
  const agent = new StateGraph({ name: 'g' })
    .addNode('slow', new Waiting({ name: 'slow' }))
    .addNode('worker', new Worker({ name: 'worker' }), { timeoutMs: 50 })
    .addEdge(START, ['slow', 'worker'])
    .addEdge('slow', END)
    .addEdge('worker', END)
    .compile();
  const { run, platform } = await scenario({ agent });
  const running = run().catch((error: unknown) => error);
  await working.reached;
  platform.advance(30);
  working.open();
  await settled(platform);
  platform.advance(500);
  turn.open();
  await after.reached;
  // The node has used 30 of its 50 milliseconds.
  platform.advance(20);
  expect(await running).toBeInstanceOf(NodeTimeoutError);
});
