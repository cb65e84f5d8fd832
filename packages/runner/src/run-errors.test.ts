/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  AgentError,
  type AppendEventRequest,
  BaseAgent,
  BasePlugin,
  CallbackContext,
  ConfigurationError,
  type Content,
  type Event,
  EventloomError,
  type InvocationContext,
  isRunnerCompletion,
  ModelError,
  RunAbortedError,
  SessionNotFoundError,
  StateValueError,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, modelEvent } from '@eventloom/testing';
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
const HI: RunAsyncParams = { userId: 'u', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };

async function setUp(script: Script, config: Partial<RunnerConfig> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const runner = new Runner({ appName: 'app', agent: new CustomAgent(script), sessionService, platform, ...config });
  await runner.sessionService.createSession(KEY);
  const stored = async () => (await runner.sessionService.getSession(KEY)) ?? expect.unreachable();
  return { runner, platform, stored };
}

/** The events of a run that fails, and what it threw. */
async function failing(runner: Runner, params: RunAsyncParams = HI): Promise<{ events: Event[]; error: unknown }> {
  const events: Event[] = [];
  try {
    for await (const event of runner.runAsync(params)) events.push(event);
  } catch (error) {
    return { events, error };
  }
  return expect.unreachable();
}

async function isFree(runner: Runner): Promise<void> {
  await runner.sessionService.releaseLease(await runner.sessionService.acquireLease({ ...KEY, onBusy: 'reject' }));
}

/** What is told of an error that is not Eventloom's own: its words may hold secrets. */
const TOLD = 'agent "bot" failed; the program that runs it was told why';

test('what an agent throws becomes one error event, stored and yielded, and then the error of the run', async () => {
  const cause = new TypeError('broken');
  const { runner, stored } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
    throw cause;
  });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'broken', cause });
  expect(events).toHaveLength(2);
  expect(events[1]).toMatchObject({
    author: 'bot',
    object: 'error',
    errorCode: 'AGENT',
    errorMessage: TOLD,
    error: { type: 'AGENT', message: TOLD },
  });
  expect(events[1]).not.toHaveProperty('content');
  expect((await stored()).events.slice(1)).toEqual(events);
  await isFree(runner);
});

test.each([
  ['an error of Eventloom is thrown as it is', new ConfigurationError('no model'), 'CONFIGURATION'],
  [
    'a model error tells the code of its service',
    new ModelError('slow down', { errorCode: 'RESOURCE_EXHAUSTED' }),
    'RESOURCE_EXHAUSTED',
  ],
])('%s', async (_, thrown, errorCode) => {
  const { runner } = await setUp(async function* () {
    throw thrown;
  });
  const { events, error } = await failing(runner);
  expect(error).toBe(thrown);
  expect(events).toMatchObject([{ errorCode, errorMessage: thrown.message }]);
});

test.each([
  ['a text', 'out of paper', 'out of paper'],
  ['nothing', undefined, 'undefined'],
  ['an error without a message', new RangeError(), 'RangeError'],
])('an agent may throw %s', async (_, thrown, message) => {
  const { runner } = await setUp(async function* () {
    // oxlint-disable-next-line typescript/only-throw-error -- user code may throw anything
    throw thrown;
  });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message, ...(thrown === undefined ? {} : { cause: thrown }) });
  expect(events).toMatchObject([{ errorCode: 'AGENT', errorMessage: TOLD }]);
});

test('state that no event carries yet is lost when the agent throws', async () => {
  const { runner, stored } = await setUp(async function* (context) {
    new CallbackContext({ invocationContext: context }).state.set('lost', 1);
    yield modelEvent('bot', 'one', { actions: { stateDelta: { kept: 1 } } });
    throw new TypeError('broken');
  });
  await failing(runner);
  expect((await stored()).state).toEqual({ kept: 1 });
});

test('the agent’s generator has run its finally blocks when the error comes out', async () => {
  let isCleaned = false;
  const { runner } = await setUp(async function* () {
    try {
      yield modelEvent('bot', 'one');
      throw new TypeError('broken');
    } finally {
      isCleaned = true;
    }
  });
  await failing(runner);
  expect(isCleaned).toBe(true);
});

test('an agent whose event cannot be stored may wait in its finally block for work that is told to stop', async () => {
  const { runner } = await setUp(async function* ({ abortSignal }) {
    const stopped = new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
    try {
      yield modelEvent('bot', 'one', { actions: { stateDelta: { when: new Date() } } });
    } finally {
      await stopped;
    }
  });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(StateValueError);
  expect(events).toMatchObject([{ errorCode: 'STATE_VALUE' }]);
});

test('work that goes on beside a failed run is told to stop', async () => {
  let signal: AbortSignal | undefined;
  const { runner } = await setUp(async function* (context) {
    signal = context.abortSignal;
    yield modelEvent('bot', 'one');
    throw new TypeError('broken');
  });
  await failing(runner);
  expect(signal?.aborted).toBe(true);
});

// Plugins.

class Recording extends BasePlugin {
  readonly log: unknown[] = [];

  override afterRunCallback(): void {
    this.log.push('afterRun');
  }

  override onRunErrorCallback({ error }: { error: Error }): void {
    this.log.push(error);
  }
}

const throwing: Script = async function* () {
  throw new TypeError('broken');
};

test('every plugin is told of the error, after its event, and afterRunCallback is for success', async () => {
  const plugins = [new Recording('one'), new Recording('two')];
  const { runner } = await setUp(throwing, { plugins });
  const stream = runner.runAsync(HI);
  await stream.next();
  expect(plugins[0]?.log).toEqual([]);
  const thrown: unknown = await stream.next().catch((error: unknown) => error);
  expect(plugins.map((plugin) => plugin.log)).toEqual([[thrown], [thrown]]);
});

test('a plugin that fails when it is told changes nothing about the run', async () => {
  class Failing extends BasePlugin {
    override onRunErrorCallback(): never {
      throw new RangeError('plugin');
    }
  }
  const last = new Recording('last');
  const { runner, platform } = await setUp(throwing, { plugins: [new Failing('failing'), last] });
  const { events, error } = await failing(runner, { ...HI, runConfig: { completionEvent: true } });
  expect(error).toMatchObject({ code: 'AGENT', message: 'broken' });
  expect(events.map((event) => event.object)).toEqual(['error', 'runner.completion']);
  expect(last.log).toEqual([error]);
  await expect(platform.drain()).rejects.toThrow('plugin');
  await isFree(runner);
});

test('an error of a plugin’s callback fails the run like one of the agent', async () => {
  let signal: AbortSignal | undefined;
  class Failing extends BasePlugin {
    override afterRunCallback({ invocationContext }: { invocationContext: InvocationContext }): never {
      signal = invocationContext.abortSignal;
      throw new RangeError('after');
    }
  }
  const plugin = new Failing('failing');
  const { runner } = await setUp(
    async function* () {
      yield modelEvent('bot', 'one');
    },
    { plugins: [plugin] },
  );
  const { events, error } = await failing(runner);
  expect(error).toMatchObject({ code: 'AGENT', message: 'after' });
  expect(events.map((event) => event.errorMessage)).toEqual([undefined, TOLD]);
  expect(signal?.aborted).toBe(true);
});

test('a plugin that refuses every event cannot hide why the run failed', async () => {
  class Refusing extends BasePlugin {
    override onEventCallback(): never {
      throw new RangeError('refused');
    }
  }
  const plugins = [new Refusing('refusing')];
  const { runner } = await setUp(throwing, { plugins });
  const { events, error } = await failing(runner, { ...HI, runConfig: { completionEvent: true } });
  expect(error).toMatchObject({ code: 'AGENT', message: 'broken' });
  expect(events.map((event) => event.object)).toEqual(['error', 'runner.completion']);
  await isFree(runner);
});

test('what a plugin throws about the message is typed, and nothing is written', async () => {
  class Refusing extends BasePlugin {
    override onUserMessageCallback(): never {
      throw new RangeError('refused');
    }
  }
  const { runner, stored } = await setUp(throwing, { plugins: [new Refusing('refusing')] });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'refused' });
  expect(events).toEqual([]);
  expect((await stored()).events).toEqual([]);
  await isFree(runner);
});

// Storage.

class FailingService extends InMemorySessionService {
  appends = 0;
  failsFrom = Infinity;
  failsRelease = false;

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    // oxlint-disable-next-line eventloom/no-bare-error -- a driver's own error
    if (++this.appends >= this.failsFrom) throw new Error('disk full');
    return super.appendEvent(request);
  }

  override async releaseLease(...args: Parameters<InMemorySessionService['releaseLease']>): Promise<void> {
    // oxlint-disable-next-line eventloom/no-bare-error -- a driver's own error
    if (this.failsRelease) throw new Error('connection lost');
    return super.releaseLease(...args);
  }
}

const twice: Script = async function* () {
  yield modelEvent('bot', 'one');
  yield modelEvent('bot', 'two');
};

test('when the error event cannot be stored either, the first error is thrown', async () => {
  const sessionService = new FailingService();
  sessionService.failsFrom = 3;
  const plugin = new Recording('recording');
  const { runner } = await setUp(twice, { sessionService, plugins: [plugin] });
  const { events, error } = await failing(runner, { ...HI, runConfig: { completionEvent: true } });
  expect(error).toBeInstanceOf(AgentError);
  expect(error).toMatchObject({ message: 'disk full' });
  expect(plugin.log).toEqual([error]);
  expect(events.map((event) => event.object)).toEqual([undefined, 'runner.completion']);
});

test('a message that cannot be stored fails the run with a typed error', async () => {
  const sessionService = new FailingService();
  sessionService.failsFrom = 1;
  const { runner } = await setUp(twice, { sessionService });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(AgentError);
  expect(events).toEqual([]);
  await isFree(runner);
});

test('a run whose events are stored does not fail because its session cannot be released', async () => {
  const sessionService = new FailingService();
  sessionService.failsRelease = true;
  const { runner, platform } = await setUp(twice, { sessionService });
  expect(await runner.run(HI)).toHaveLength(2);
  await expect(platform.drain()).rejects.toThrow('connection lost');
});

test('a session that is deleted during its run fails it', async () => {
  const { runner } = await setUp(async function* () {
    yield modelEvent('bot', 'one');
    await runner.sessionService.deleteSession(KEY);
    yield modelEvent('bot', 'two');
  });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(SessionNotFoundError);
  expect(events).toHaveLength(1);
});

test('an event that cannot be stored fails the run, and the agent does not go on', async () => {
  const { runner, stored } = await setUp(async function* () {
    yield modelEvent('bot', 'one', { actions: { stateDelta: { when: new Date() } } });
    expect.unreachable();
  });
  const { events, error } = await failing(runner);
  expect(error).toBeInstanceOf(StateValueError);
  expect(events).toMatchObject([{ errorCode: 'STATE_VALUE' }]);
  expect((await stored()).events).toHaveLength(2);
});

// The completion event.

test('the completion event comes last and once, is never stored, and says how the run ended', async () => {
  const { runner, stored } = await setUp(twice);
  const events = await runner.run({ ...HI, runConfig: { completionEvent: true, requestId: 'r1' } });
  expect(events.map(isRunnerCompletion)).toEqual([false, false, true]);
  expect(events[2]).toMatchObject({
    author: 'app',
    object: 'runner.completion',
    requestId: 'r1',
    customMetadata: { outcome: 'completed' },
  });
  expect((await stored()).events).toHaveLength(3);
});

test('a failed run ends with its error event, the completion event and then the error', async () => {
  const { runner } = await setUp(throwing);
  const { events, error } = await failing(runner, { ...HI, runConfig: { completionEvent: true } });
  expect(EventloomError.isInstance(error)).toBe(true);
  expect(events.map((event) => event.object)).toEqual(['error', 'runner.completion']);
  expect(events[1]?.customMetadata).toEqual({ outcome: 'failed' });
});

test('an aborted run ends with the completion event and then the error', async () => {
  const { runner } = await setUp(twice);
  const controller = new AbortController();
  const events: Event[] = [];
  const running = (async () => {
    for await (const event of runner.runAsync({
      ...HI,
      abortSignal: controller.signal,
      runConfig: { completionEvent: true },
    })) {
      events.push(event);
      controller.abort();
    }
  })();
  await expect(running).rejects.toBeInstanceOf(RunAbortedError);
  expect(events.map((event) => event.object)).toEqual([undefined, 'runner.completion']);
  expect(events[1]?.customMetadata).toEqual({ outcome: 'aborted' });
});

test.each(['before it is asked for anything', 'while it waits for its session'])(
  'a run that is aborted %s ends with the completion event and then the error',
  async (when) => {
    const { runner, stored } = await setUp(twice);
    await runner.sessionService.acquireLease(KEY);
    const controller = new AbortController();
    if (when.startsWith('before')) controller.abort();
    const runConfig = { completionEvent: true, requestId: 'r1', customMetadata: { mine: 1 } };
    const stream = runner.runAsync({ ...HI, abortSignal: controller.signal, runConfig });
    const first = stream.next();
    controller.abort();
    expect((await first).value).toMatchObject({
      object: 'runner.completion',
      invocationId: stream.invocationId,
      author: 'app',
      requestId: 'r1',
      customMetadata: { mine: 1, outcome: 'aborted' },
    });
    await expect(stream.next()).rejects.toBeInstanceOf(RunAbortedError);
    expect((await stored()).events).toEqual([]);
  },
);

test('a run that is refused has no completion event', async () => {
  const { runner } = await setUp(twice);
  const { events } = await failing(runner, { ...HI, newMessage: { parts: [] }, runConfig: { completionEvent: true } });
  expect(events).toEqual([]);
});

test('a run that its first callback answers has a completion event as well', async () => {
  class Answering extends BasePlugin {
    override beforeRunCallback(): Content {
      return { parts: [{ text: 'closed' }] };
    }
  }
  const { runner } = await setUp(throwing, { plugins: [new Answering('answering')] });
  const events = await runner.run({ ...HI, runConfig: { completionEvent: true } });
  expect(events.map((event) => event.object)).toEqual([undefined, 'runner.completion']);
});
