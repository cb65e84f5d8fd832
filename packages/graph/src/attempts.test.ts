import {
  type BaseAgent,
  BaseAgent as Base,
  ConfigurationError,
  type Event,
  type InvocationContext,
  RunAbortedError,
} from '@eventloom/core';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { type FixedPlatform, fixedPlatform, Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { END, NodeError, type NodeOptions, NodeTimeoutError, START, StateGraph, StepLimitError } from './index.ts';

const IDS = { userId: 'u', sessionId: 's' };

/** A graph of one node, `work`. */
async function setUp(
  work: ((input: string, context: { attempt: number; abortSignal: AbortSignal }) => unknown) | BaseAgent,
  options: NodeOptions = {},
) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', ...IDS });
  const agent = new StateGraph({ name: 'g' })
    .addNode('work', work as never, options as never)
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile();
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const run = (text = 'hi') => runner.run({ ...IDS, newMessage: { parts: [{ text }] } });
  return { run, platform };
}

/** Lets happen what needs no time to pass. */
const settled = (platform: FixedPlatform) => new Promise<void>((resolve) => platform.schedule(0, resolve));

/** The next timer of a node; the lease of the session has one as well. */
async function nodeTimer(platform: FixedPlatform): Promise<number> {
  for (;;) {
    const next = await platform.nextTimer();
    if (next < 1000) return next;
    await settled(platform);
  }
}

const answerOf = (events: readonly Event[]) => events.at(-1)?.content?.parts?.[0]?.text;

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

test('an attempt that takes too long ends, its signal fires, and it is tried again', async () => {
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

test('an attempt that takes too long for good is an error of its own', async () => {
  const { run, platform } = await setUp(() => new Promise(() => undefined), { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  platform.advance(await nodeTimer(platform));
  expect(await running).toBeInstanceOf(NodeTimeoutError);
});

/** Says nothing before it is stopped. */
class Slow extends Base {
  stopped = false;

  // eslint-disable-next-line require-yield -- it has nothing to say
  protected override async *runAsyncImpl({ abortSignal }: InvocationContext): AsyncGenerator<Event, void, void> {
    await new Promise<void>((resolve) => abortSignal.addEventListener('abort', () => resolve()));
    this.stopped = true;
  }
}

test('an agent that takes too long is stopped', async () => {
  const agent = new Slow({ name: 'slow' });
  const { run, platform } = await setUp(agent, { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  platform.advance(await nodeTimer(platform));
  expect(await running).toBeInstanceOf(NodeTimeoutError);
  expect(agent.stopped).toBe(true);
});

test('input and output are what their schemas make of them', async () => {
  const inputSchema = z.string().transform((text) => text.length);
  const outputSchema = z.object({ size: z.number(), unit: z.string().default('letters') });
  const json = { '~standard': { ...inputSchema['~standard'], jsonSchema: z.string()['~standard'].jsonSchema } };
  const { run } = await setUp((size) => ({ size }), { inputSchema: json as never, outputSchema });
  expect(JSON.parse(answerOf(await run('four')) ?? '')).toEqual({ size: 4, unit: 'letters' });
});

test('an input that does not fit is an error that names the node, and is not tried again', async () => {
  let attempts = 0;
  const { run } = await setUp(() => attempts++, {
    inputSchema: z.string().min(5),
    retry: { maxAttempts: 3, initialDelayMs: 0 },
  });
  await expect(run('hi')).rejects.toThrow(/node "work": its input does not fit/);
  expect(attempts).toBe(0);
});

test('an output that does not fit is tried again, and an error in the end', async () => {
  let attempts = 0;
  const { run } = await setUp(() => (attempts++ === 0 ? 'no number' : 5), {
    outputSchema: z.number(),
    retry: { maxAttempts: 2, initialDelayMs: 0 },
  });
  expect(answerOf(await run())).toBe('5');
  const bad = await setUp(() => 'no number', { outputSchema: z.number() });
  await expect(bad.run()).rejects.toThrow(/node "work": its output does not fit/);
});

test('an output that is not JSON is an error that names the node', async () => {
  const { run } = await setUp(() => ({ at: 10n }));
  await expect(run()).rejects.toThrow(/node "work": its output at at is a bigint/);
});

test('a loop that has no end comes to the bound of the graph', async () => {
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', ...IDS });
  let rounds = 0;
  const agent = new StateGraph({ name: 'g' })
    .addNode('round', () => ++rounds)
    .addEdge(START, 'round')
    .addConditionalEdges('round', () => 'again', { again: 'round', out: END })
    .compile({ maxSteps: 7 });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const running = runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  const error: unknown = await running.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StepLimitError);
  expect((error as Error).message).toMatch(/"g".*7 steps.*"round"/);
  expect(rounds).toBe(7);
});

/** Never says anything, and does not listen. */
class Deaf extends Base {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    await new Promise(() => undefined);
    yield context.createEvent();
  }
}

test('an agent that takes too long and does not listen is not waited for', async () => {
  const { run, platform } = await setUp(new Deaf({ name: 'deaf' }), { timeoutMs: 50 });
  const running = run().catch((error: unknown) => error);
  platform.advance(await nodeTimer(platform));
  expect(await running).toBeInstanceOf(NodeTimeoutError);
});

test('time that a node waits for its turn is not its own', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', ...IDS });
  const gate = new Gate();
  const talker = new Talker({ name: 'talker' });
  const agent = new StateGraph({ name: 'g' })
    .addNode('slow', () => gate.pass())
    .addNode('talker', talker, { timeoutMs: 50 })
    .addEdge(START, ['slow', 'talker'])
    .addEdge('slow', END)
    .addEdge('talker', END)
    .compile();
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const running = runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } });
  await gate.reached;
  await settled(platform);
  platform.advance(500);
  gate.open();
  expect((await running).some(({ author }) => author === 'talker')).toBe(true);
});

class Talker extends Base {
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    yield context.createEvent({ author: this.name, content: { role: 'model', parts: [{ text: 'said' }] } });
  }
}

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

test('time that a node used before it waited for its turn is its own', async () => {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService();
  await sessionService.createSession({ appName: 'app', ...IDS });
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
    // eslint-disable-next-line require-yield -- it has nothing to say
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
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const running = runner.run({ ...IDS, newMessage: { parts: [{ text: 'hi' }] } }).catch((error: unknown) => error);
  await working.reached;
  platform.advance(30);
  working.open();
  await settled(platform);
  platform.advance(500);
  turn.open();
  await after.reached;
  // 30 of its 50 are gone.
  platform.advance(20);
  expect(await running).toBeInstanceOf(NodeTimeoutError);
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
