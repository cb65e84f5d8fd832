/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  type AppendEventRequest,
  BaseAgent,
  BaseLlm,
  BasePlugin,
  type Event,
  type InvocationContext,
  type LlmResponse,
  RunAbortedError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, modelEvent, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { RunAsyncParams } from './run-params.ts';
import type { RunnerConfig } from './runner-config.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;

  constructor(script: Script) {
    super({ name: 'bot' });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(agent: BaseAgent | Script, config: Partial<RunnerConfig> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const root = typeof agent === 'function' ? new CustomAgent(agent) : agent;
  const runner = new Runner({ appName: 'app', agent: root, sessionService, platform, ...config });
  await runner.sessionService.createSession(KEY);
  const controller = new AbortController();
  const hi: RunAsyncParams = {
    userId: 'u',
    sessionId: 's',
    newMessage: { parts: [{ text: 'hi' }] },
    abortSignal: controller.signal,
  };
  const texts = async () => {
    const session = (await runner.sessionService.getSession(KEY)) ?? expect.unreachable();
    return session.events.map(textOf);
  };
  const expectFree = async () => {
    await runner.sessionService.releaseLease(await runner.sessionService.acquireLease({ ...KEY, onBusy: 'reject' }));
  };
  return { runner, platform, controller, hi, texts, expectFree };
}

function textOf(event: Event): string | undefined {
  const part = event.content?.parts?.[0];
  return part?.text ?? part?.functionCall?.name ?? part?.functionResponse?.name;
}

/** The events of a run that is aborted, and what it threw. */
async function aborted(runner: Runner, params: RunAsyncParams): Promise<{ events: Event[]; error: RunAbortedError }> {
  const events: Event[] = [];
  try {
    for await (const event of runner.runAsync(params)) events.push(event);
  } catch (error) {
    if (RunAbortedError.isInstance(error)) return { events, error };
    throw error;
  }
  return expect.unreachable();
}

test('a run that was aborted before it began does nothing', async () => {
  const { runner, controller, hi, texts, expectFree } = await setUp(async function* () {
    expect.unreachable();
  });
  const reason = new TypeError('left');
  controller.abort(reason);
  const { events, error } = await aborted(runner, hi);
  expect(events).toEqual([]);
  expect(error).toMatchObject({ message: 'the run was aborted before it began', cause: reason });
  expect(await texts()).toEqual([]);
  await expectFree();
});

test('an abort ends the wait for a busy session', async () => {
  const { runner, controller, hi, texts } = await setUp(async function* () {
    expect.unreachable();
  });
  await runner.sessionService.acquireLease(KEY);
  const running = aborted(runner, hi);
  controller.abort();
  expect((await running).events).toEqual([]);
  expect(await texts()).toEqual([]);
});

test('an abort between two events stops the agent where it is, and what was committed stays', async () => {
  let isCleaned = false;
  let goesOn = false;
  const { runner, controller, hi, texts, expectFree } = await setUp(async function* () {
    try {
      yield modelEvent('bot', 'one');
      goesOn = true;
    } finally {
      isCleaned = true;
    }
  });
  const stream = runner.runAsync(hi);
  await stream.next();
  controller.abort(new TypeError('left'));
  const error: unknown = await stream.next().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunAbortedError);
  expect(error).toMatchObject({ message: 'the run was aborted', cause: { message: 'left' } });
  expect([isCleaned, goesOn]).toEqual([true, false]);
  expect(await texts()).toEqual(['hi', 'one']);
  await expectFree();
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('an abort after the last event is an abort, not a silent end', async () => {
  const { runner, controller, hi } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
  });
  const stream = runner.runAsync(hi);
  await stream.next();
  controller.abort();
  await expect(stream.next()).rejects.toBeInstanceOf(RunAbortedError);
});

test('an abort does not wait for an agent that does not listen, and nothing of it is stored later', async () => {
  const gate = new Gate();
  const { runner, controller, hi, texts, expectFree } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
    await gate.pass();
    yield modelEvent('bot', 'late');
  });
  const running = aborted(runner, hi);
  await gate.reached;
  controller.abort();
  expect((await running).events.map(textOf)).toEqual(['one']);
  await expectFree();
  gate.open();
  expect(await texts()).toEqual(['hi', 'one']);
});

test('what an agent throws because of the abort does not hide the abort', async () => {
  const listening = Promise.withResolvers<void>();
  const { runner, controller, hi } = await setUp(async function* (context) {
    yield modelEvent('bot', 'one');
    await new Promise<void>((_, reject) => {
      context.abortSignal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError')));
      listening.resolve();
    });
  });
  const running = aborted(runner, hi);
  await listening.promise;
  controller.abort();
  const { events, error } = await running;
  expect(events.map(textOf)).toEqual(['one']);
  expect(error.message).toBe('the run was aborted');
});

test('an event that is being stored when the run is aborted is stored', async () => {
  const gate = new Gate();
  class SlowService extends InMemorySessionService {
    override async appendEvent(request: AppendEventRequest): Promise<Event> {
      if (textOf(request.event) === 'one') await gate.pass();
      return super.appendEvent(request);
    }
  }
  const { runner, controller, hi, texts } = await setUp(
    async function* () {
      yield modelEvent('bot', 'one');
      expect.unreachable();
    },
    { sessionService: new SlowService() },
  );
  const running = aborted(runner, hi);
  await gate.reached;
  controller.abort();
  gate.open();
  await running;
  expect(await texts()).toEqual(['hi', 'one']);
});

test('plugins are told of an abort as of an error', async () => {
  const told: unknown[] = [];
  class Telling extends BasePlugin {
    override onRunErrorCallback({ error }: { error: Error }): void {
      told.push(error);
    }

    override afterRunCallback(): void {
      expect.unreachable();
    }
  }
  const { runner, controller, hi } = await setUp(
    async function* () {
      yield modelEvent('bot', 'one');
      controller.abort();
      yield modelEvent('bot', 'two');
    },
    { plugins: [new Telling('telling')] },
  );
  const { error } = await aborted(runner, hi);
  expect(told).toEqual([error]);
});

// Models and tools.

test('an abort while the model streams ends the model call, and the reply is not stored', async () => {
  const gate = new Gate();
  const model = new ScriptedModel([{ chunks: ['Hel', gate, 'lo'] }]);
  const { runner, controller, hi, texts, expectFree } = await setUp(new LlmAgent({ name: 'bot', model }));
  const running = aborted(runner, { ...hi, runConfig: { streamingMode: 'sse' } });
  await gate.reached;
  controller.abort();
  expect((await running).events.map(textOf)).toEqual(['Hel']);
  expect(await texts()).toEqual(['hi']);
  await expectFree();
});

/** Ignores its signal and never answers. */
class DeafModel extends BaseLlm {
  readonly asked = Promise.withResolvers<void>();

  constructor() {
    super({ model: 'deaf' });
  }

  override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
    this.asked.resolve();
    await new Promise(() => undefined);
  }
}

test('an abort does not wait for a model that ignores its signal', async () => {
  const model = new DeafModel();
  const { runner, controller, hi, expectFree } = await setUp(new LlmAgent({ name: 'bot', model }));
  const running = aborted(runner, hi);
  await model.asked.promise;
  controller.abort();
  expect((await running).events).toEqual([]);
  await expectFree();
});

test('an abort does not wait for a tool that ignores its signal; its call stays, started and without an answer', async () => {
  const started = Promise.withResolvers<void>();
  const hangs = new FunctionTool({
    name: 'hangs',
    description: '',
    execute: () => {
      started.resolve();
      return new Promise(() => undefined);
    },
  });
  const model = new ScriptedModel([{ calls: [{ id: 'c1', name: 'hangs', args: {} }] }]);
  const { runner, controller, hi, texts, expectFree } = await setUp(
    new LlmAgent({ name: 'bot', model, tools: [hangs] }),
  );
  const running = aborted(runner, hi);
  await started.promise;
  controller.abort();
  const { events } = await running;
  expect(events.map(textOf)).toEqual(['hangs']);
  expect(await texts()).toEqual(['hi', 'hangs']);
  const invocationId = events[0]?.invocationId ?? '';
  expect(await runner.sessionService.listToolCalls({ ...KEY, invocationId })).toMatchObject([
    { callId: expect.stringMatching(/\/c1$/) as string, status: 'started' },
  ]);
  await expectFree();
});

test('an abort does not wait for a callback that ignores its signal', async () => {
  const started = Promise.withResolvers<void>();
  const beforeModelCallback = () => {
    started.resolve();
    return new Promise<undefined>(() => undefined);
  };
  const agent = new LlmAgent({ name: 'bot', model: new ScriptedModel([]), beforeModelCallback });
  const { runner, controller, hi, expectFree } = await setUp(agent);
  const running = aborted(runner, hi);
  await started.promise;
  controller.abort();
  await running;
  await expectFree();
});

test('a tool is told of the abort', async () => {
  const stopped = Promise.withResolvers<void>();
  const { runner, controller, hi } = await setUp(
    new LlmAgent({
      name: 'bot',
      model: new ScriptedModel([{ calls: [{ name: 'listens', args: {} }] }]),
      tools: [
        new FunctionTool({
          name: 'listens',
          description: '',
          execute: (_, { abortSignal }) => {
            abortSignal.addEventListener('abort', () => stopped.resolve());
            controller.abort();
            return stopped.promise;
          },
        }),
      ],
    }),
  );
  await aborted(runner, hi);
  await stopped.promise;
});

test('a model that stops because the run was taken over has not failed', async () => {
  const gate = new Gate();
  let asked = false;
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel([{ text: 'never', gate }, 'second']),
    onModelErrorCallback: () => void (asked = true),
    onAgentErrorCallback: () => void (asked = true),
  });
  const { runner, hi, texts } = await setUp(agent);
  const params: RunAsyncParams = { ...hi, abortSignal: undefined };
  const first = runner.run(params).catch((thrown: unknown) => thrown);
  await gate.reached;
  await runner.run({ ...params, runConfig: { onBusy: 'interrupt' } });
  expect(await first).toMatchObject({ code: 'STALE_WRITER' });
  expect(asked).toBe(false);
  expect(await texts()).toEqual(['hi', 'hi', 'second']);
});

test('a tool that hangs when the run is taken over does not hold it, and has not failed', async () => {
  const started = Promise.withResolvers<void>();
  let asked = false;
  const hangs = new FunctionTool({
    name: 'hangs',
    description: '',
    execute: () => {
      started.resolve();
      return new Promise(() => undefined);
    },
  });
  const agent = new LlmAgent({
    name: 'bot',
    model: new ScriptedModel([{ calls: [{ name: 'hangs', args: {} }] }, 'second']),
    tools: [hangs],
    onToolErrorCallback: () => void (asked = true),
    afterToolCallback: () => void (asked = true),
  });
  const { runner, hi } = await setUp(agent);
  const params: RunAsyncParams = { ...hi, abortSignal: undefined };
  const first = runner.run(params).catch((thrown: unknown) => thrown);
  await started.promise;
  await runner.run({ ...params, runConfig: { onBusy: 'interrupt' } });
  expect(await first).toMatchObject({ code: 'STALE_WRITER' });
  expect(asked).toBe(false);
});

// Consumers that stop reading.

test('a consumer that stops reading ends the run: the agent is closed, its work told to stop, the session free', async () => {
  let isCleaned = false;
  let signal: AbortSignal | undefined;
  const { runner, hi, texts, expectFree } = await setUp(async function* (context) {
    signal = context.abortSignal;
    try {
      yield modelEvent('bot', 'one');
      expect.unreachable();
    } finally {
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
      isCleaned = true;
    }
  });
  for await (const _ of runner.runAsync({ ...hi, runConfig: { completionEvent: true } })) break;
  expect(isCleaned).toBe(true);
  expect(signal?.aborted).toBe(true);
  expect(await texts()).toEqual(['hi', 'one']);
  await expectFree();
});

test('a consumer that stops at a chunk closes the model call', async () => {
  let isClosed = false;
  class Endless extends BaseLlm {
    override async *generateContentAsync(): AsyncGenerator<LlmResponse, void, void> {
      try {
        for (;;) yield { content: { role: 'model', parts: [{ text: 'and ' }] }, partial: true };
      } finally {
        isClosed = true;
      }
    }
  }
  const agent = new LlmAgent({ name: 'bot', model: new Endless({ model: 'endless' }) });
  const { runner, hi, texts, expectFree } = await setUp(agent);
  let chunks = 0;
  for await (const _ of runner.runAsync({ ...hi, runConfig: { streamingMode: 'sse' } })) if (++chunks === 3) break;
  expect(isClosed).toBe(true);
  expect(await texts()).toEqual(['hi']);
  await expectFree();
});

test('an error of the consumer’s own ends the run as well', async () => {
  const { runner, hi, expectFree } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
    expect.unreachable();
  });
  const reading = async () => {
    for await (const _ of runner.runAsync(hi)) throw new RangeError('consumer');
  };
  await expect(reading()).rejects.toThrow('consumer');
  await expectFree();
});

test('work that the agent waits for in its finally block is told to stop first', async () => {
  const { runner, hi, expectFree } = await setUp(async function* ({ abortSignal }) {
    const stopped = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
    try {
      yield modelEvent('bot', 'one');
    } finally {
      await stopped;
    }
  });
  for await (const _ of runner.runAsync(hi)) break;
  await expectFree();
});

test('what a finally block throws after the consumer left is reported, and not thrown at the consumer', async () => {
  const { runner, hi, platform, expectFree } = await setUp(async function* () {
    try {
      yield modelEvent('bot', 'one');
    } finally {
      // oxlint-disable-next-line eslint/no-unsafe-finally -- user code may do so
      throw new RangeError('cleanup');
    }
  });
  for await (const _ of runner.runAsync(hi)) break;
  await expectFree();
  await expect(platform.drain()).rejects.toThrow('cleanup');
});

test('a finally block that fails only because it was told to stop is no failure', async () => {
  const { runner, hi, platform, expectFree } = await setUp(async function* ({ abortSignal }) {
    const failing = new Promise((_, reject) =>
      abortSignal.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError'))),
    );
    try {
      yield modelEvent('bot', 'one');
    } finally {
      await failing;
    }
  });
  for await (const _ of runner.runAsync(hi)) break;
  await expectFree();
  await platform.drain();
});

test('a stream ends when its session was given back', async () => {
  let isReleased = false;
  class SlowService extends InMemorySessionService {
    override async releaseLease(...args: Parameters<InMemorySessionService['releaseLease']>): Promise<void> {
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      await super.releaseLease(...args);
      isReleased = true;
    }
  }
  const sessionService = new SlowService();
  const { runner, hi } = await setUp(
    async function* () {
      yield modelEvent('bot', 'one');
    },
    { sessionService },
  );
  await runner.run(hi);
  expect(isReleased).toBe(true);
  isReleased = false;
  for await (const _ of runner.runAsync(hi)) break;
  expect(isReleased).toBe(true);
});

test('a stream is closed by `await using`', async () => {
  const { runner, hi, expectFree } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
    expect.unreachable();
  });
  {
    await using stream = runner.runAsync(hi);
    await stream.next();
  }
  await expectFree();
});

test('a signal that outlives many runs keeps nothing of them', async () => {
  const { runner, controller, hi } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
  });
  let listeners = 0;
  const { signal } = controller;
  const counted = new Proxy(signal, {
    get(target, key): unknown {
      if (key === 'addEventListener') listeners++;
      if (key === 'removeEventListener') listeners--;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  for (let run = 0; run < 3; run++) await runner.run({ ...hi, abortSignal: counted });
  for await (const _ of runner.runAsync({ ...hi, abortSignal: counted })) break;
  expect(listeners).toBe(0);
});
