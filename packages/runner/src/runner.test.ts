/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  type AppendEventRequest,
  BaseAgent,
  BasePlugin,
  ConfigurationError,
  type Content,
  createEvent,
  type Event,
  type InvocationContext,
  InvalidMessageError,
  isRunnerCompletion,
  ObjectType,
  type Session,
  type SessionLease,
  SessionNotFoundError,
  StateKeyError,
  StateValueError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, modelEvent, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';
import type { RunnerConfig } from './runner-config.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

class CustomAgent extends BaseAgent {
  readonly #script: Script;
  isClosed = false;

  constructor(script: Script, name = 'bot') {
    super({ name });
    this.#script = script;
  }

  protected override runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    return this.#script(context);
  }

  override close(): void {
    this.isClosed = true;
  }
}

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };

async function setUp(script: Script, config: Partial<RunnerConfig> = {}, state: Record<string, unknown> = {}) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  const runner = new Runner({ appName: 'app', agent: new CustomAgent(script), sessionService, platform, ...config });
  await runner.sessionService.createSession({ ...KEY, state });
  const stored = async (): Promise<Session> => {
    const session = await runner.sessionService.getSession(KEY);
    return session ?? expect.unreachable();
  };
  return { runner, platform, stored };
}

function saying(text: string): { userId: string; sessionId: string; newMessage: Content } {
  return { userId: 'u', sessionId: 's', newMessage: { parts: [{ text }] } };
}

const textOf = (event: Event | undefined): string | undefined => event?.content?.parts?.[0]?.text;

test('a run stores what the user said without yielding it, and stores and yields every event of the agent', async () => {
  const { runner, stored } = await setUp(async function* (context) {
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'one' }] } });
    yield context.createEvent({ content: { role: 'model', parts: [{ text: 'two' }] } });
  });
  const events = await runner.run(saying('hi'));
  expect(events.map(textOf)).toEqual(['one', 'two']);
  const session = await stored();
  expect(session.events.map((event) => [event.author, textOf(event)])).toEqual([
    ['user', 'hi'],
    ['bot', 'one'],
    ['bot', 'two'],
  ]);
  expect(session.events.slice(1)).toEqual(events);
});

test('the event of the user has the role, the ids and the time of the run', async () => {
  const { runner, stored, platform } = await setUp(async function* () {});
  platform.advance(1500);
  const stream = runner.runAsync(saying('hi'));
  expect(stream.invocationId).toMatch(/^e-[0-9a-f-]{36}$/);
  for await (const _ of stream) expect.unreachable();
  expect((await stored()).events).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      invocationId: stream.invocationId,
      executionId: stream.invocationId,
      author: 'user',
      timestamp: Date.UTC(2026, 0, 1, 0, 0, 1, 500) / 1000,
      content: { role: 'user', parts: [{ text: 'hi' }] },
      actions: { stateDelta: {}, artifactDelta: {} },
    },
  ]);
});

test('what the consumer sees is stored already', async () => {
  const { runner, stored } = await setUp(async function* () {
    yield modelEvent('bot', 'one', { actions: { stateDelta: { step: 1 } } });
    yield modelEvent('bot', 'two', { actions: { stateDelta: { step: 2 } } });
  });
  let seen = 0;
  for await (const event of runner.runAsync(saying('hi'))) {
    const session = await stored();
    expect(session.events.at(-1)).toEqual(event);
    expect(session.state['step']).toBe(++seen);
  }
  expect(seen).toBe(2);
});

test('after a yield the agent reads what was committed', async () => {
  const { runner } = await setUp(
    async function* (context) {
      yield modelEvent('bot', 'one', {
        actions: { stateDelta: { a: 1, 'user:b': 2, 'temp:c': 3 }, removedState: ['old'] },
      });
      expect(context.session.state).toEqual({ a: 1, 'user:b': 2, 'temp:c': 3 });
      expect(context.session.events.map(textOf)).toEqual(['hi', 'one']);
    },
    {},
    { old: true },
  );
  expect(await runner.run(saying('hi'))).toHaveLength(1);
});

test('the agent goes on only when the consumer asks for the next event', async () => {
  const steps: string[] = [];
  const { runner } = await setUp(async function* () {
    steps.push('one');
    yield modelEvent('bot', 'one');
    steps.push('two');
    yield modelEvent('bot', 'two');
  });
  const stream = runner.runAsync(saying('hi'));
  expect(steps).toEqual([]);
  await stream.next();
  expect(steps).toEqual(['one']);
  await stream.next();
  expect(steps).toEqual(['one', 'two']);
  await stream.return();
});

test('what an event leaves open is filled in; what it says of itself stays', async () => {
  const { runner, platform } = await setUp(async function* () {
    yield createEvent({ content: { parts: [{ text: 'bare' }] } });
    yield createEvent({ id: 'mine', invocationId: 'foreign', author: 'helper', timestamp: 5, executionId: 'x' });
  });
  const stream = runner.runAsync(saying('hi'));
  const events: Event[] = [];
  for await (const event of stream) events.push(event);
  expect(events[0]).toMatchObject({
    id: expect.stringMatching(/^.{36}$/) as string,
    invocationId: stream.invocationId,
    executionId: stream.invocationId,
    author: 'bot',
    timestamp: platform.now() / 1000,
  });
  expect(events[1]).toMatchObject({
    id: 'mine',
    invocationId: stream.invocationId,
    author: 'helper',
    timestamp: 5,
    executionId: 'x',
  });
});

const chunks: Script = async function* () {
  yield modelEvent('bot', 'He', { partial: true, actions: { stateDelta: { ignored: true } } });
  yield modelEvent('bot', 'llo', { partial: true });
  yield modelEvent('bot', 'Hello');
};

test('chunks are forwarded when streaming, never stored, and their actions are ignored', async () => {
  const { runner, stored } = await setUp(chunks);
  const events = await runner.run({ ...saying('hi'), runConfig: { streamingMode: 'sse' } });
  expect(events.map((event) => [textOf(event), event.partial])).toEqual([
    ['He', true],
    ['llo', true],
    ['Hello', undefined],
  ]);
  expect(new Set(events.map((event) => event.id)).size).toBe(3);
  const session = await stored();
  expect(session.events.map(textOf)).toEqual(['hi', 'Hello']);
  expect(session.state).toEqual({});
});

test('without streaming only whole events are yielded', async () => {
  const { runner, stored } = await setUp(chunks);
  expect((await runner.run(saying('hi'))).map(textOf)).toEqual(['Hello']);
  expect((await stored()).events.map(textOf)).toEqual(['hi', 'Hello']);
});

test('announcements of a hand-over and node events are streamed and never stored', async () => {
  const { runner, stored } = await setUp(async function* () {
    yield modelEvent('bot', 'Transferring control', { object: ObjectType.agentTransfer });
    yield createEvent({
      author: 'node',
      nodeEvent: { eventType: 'x', category: 'progress', nodeId: 'node', progress: 5 },
    });
    yield modelEvent('bot', 'done');
  });
  expect(await runner.run(saying('hi'))).toHaveLength(3);
  expect((await stored()).events.map(textOf)).toEqual(['hi', 'done']);
});

test('endInvocation ends the run after the current event', async () => {
  let isClosed = false;
  const { runner, stored } = await setUp(async function* (context) {
    try {
      yield modelEvent('bot', 'one');
      context.endInvocation();
      yield modelEvent('bot', 'two');
      expect.unreachable();
    } finally {
      isClosed = true;
    }
  });
  expect((await runner.run(saying('hi'))).map(textOf)).toEqual(['one', 'two']);
  expect((await stored()).events).toHaveLength(3);
  expect(isClosed).toBe(true);
});

test('what an agent that ended the invocation throws in its finally block fails the run', async () => {
  const { runner } = await setUp(async function* (context) {
    try {
      context.endInvocation();
      yield modelEvent('bot', 'one');
    } finally {
      // oxlint-disable-next-line eslint/no-unsafe-finally -- user code may do so
      throw new RangeError('cleanup');
    }
  });
  await expect(runner.run(saying('hi'))).rejects.toMatchObject({ code: 'AGENT', message: 'cleanup' });
});

test('state given with the message is stored with it', async () => {
  const { runner, stored } = await setUp(async function* (context) {
    expect(context.session.state).toEqual({ a: 1, 'user:b': [2], 'temp:c': 3 });
  });
  await runner.run({ ...saying('hi'), stateDelta: { a: 1, 'user:b': [2], 'temp:c': 3 } });
  const session = await stored();
  expect(session.state).toEqual({ a: 1, 'user:b': [2] });
  expect(session.events[0]?.actions.stateDelta).toEqual({ a: 1, 'user:b': [2] });
});

// The order of a run.

class OrderedService extends InMemorySessionService {
  readonly log: string[];

  constructor(log: string[]) {
    super({ platform: fixedPlatform() });
    this.log = log;
  }

  override async acquireLease(...args: Parameters<InMemorySessionService['acquireLease']>): Promise<SessionLease> {
    this.log.push('lease');
    return super.acquireLease(...args);
  }

  override async getSession(...args: Parameters<InMemorySessionService['getSession']>): Promise<Session | undefined> {
    this.log.push('load');
    return super.getSession(...args);
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    this.log.push(`append ${textOf(request.event)}`);
    return super.appendEvent(request);
  }

  override async releaseLease(lease: SessionLease): Promise<void> {
    this.log.push('release');
    return super.releaseLease(lease);
  }
}

class OrderedPlugin extends BasePlugin {
  readonly log: string[];

  constructor(log: string[]) {
    super('ordered');
    this.log = log;
  }

  override onUserMessageCallback(): undefined {
    this.log.push('onUserMessage');
  }

  override beforeRunCallback(): undefined {
    this.log.push('beforeRun');
  }

  override onEventCallback({ event }: { event: Event }): undefined {
    this.log.push(`onEvent ${textOf(event)}`);
  }

  override afterRunCallback(): void {
    this.log.push('afterRun');
  }
}

test('a run goes in order: lease, session, message, agent, each event, end, release', async () => {
  const log: string[] = [];
  const { runner } = await setUp(
    async function* () {
      log.push('agent');
      yield modelEvent('bot', 'one');
      log.push('agent goes on');
      yield modelEvent('bot', 'two');
    },
    { sessionService: new OrderedService(log), plugins: [new OrderedPlugin(log)] },
  );
  for await (const event of runner.runAsync(saying('hi'))) log.push(`yield ${textOf(event)}`);
  expect(log).toEqual([
    'lease',
    'load',
    'onUserMessage',
    'append hi',
    'beforeRun',
    'agent',
    'onEvent one',
    'append one',
    'yield one',
    'agent goes on',
    'onEvent two',
    'append two',
    'yield two',
    'afterRun',
    'release',
  ]);
});

// What is refused before anything is written.

test.each([
  ['an empty message', { newMessage: { parts: [] } }, InvalidMessageError],
  [
    'a response to no call',
    { newMessage: { parts: [{ functionResponse: { id: 'x', response: {} } }] } },
    InvalidMessageError,
  ],
  ['a bad state key', { stateDelta: { '': 1 } }, StateKeyError],
  ['a state value that is not JSON', { stateDelta: { a: new Date() } }, StateValueError],
  ['an option that does not exist', { runConfig: { speed: 1 } as object }, ConfigurationError],
  ['a session that does not exist', { sessionId: 'other' }, SessionNotFoundError],
  ['blobs to save without a service', { runConfig: { saveInputBlobsAsArtifacts: true } }, ConfigurationError],
])('%s fails the run before anything is written', async (_, params, error) => {
  const { runner, stored } = await setUp(async function* () {
    expect.unreachable();
  });
  await expect(runner.run({ ...saying('hi'), ...params })).rejects.toThrow(error);
  const session = await stored();
  expect(session.events).toEqual([]);
  expect(session.state).toEqual({});
  // The session is free again.
  await runner.sessionService.acquireLease({ ...KEY, onBusy: 'reject' });
});

test('a stream that nobody reads does nothing', async () => {
  const { runner, stored } = await setUp(async function* () {
    expect.unreachable();
  });
  runner.runAsync(saying('hi'));
  await runner.runAsync(saying('hi')).return();
  expect((await stored()).events).toEqual([]);
});

// Sessions made by a run.

test('with autoCreateSession a run makes the session that it names', async () => {
  const { runner } = await setUp(chunks, { autoCreateSession: true });
  await runner.run({ ...saying('hi'), sessionId: 'new' });
  const session = await runner.sessionService.getSession({ ...KEY, sessionId: 'new' });
  expect(session?.events.map(textOf)).toEqual(['hi', 'Hello']);
});

test('several runs at once make one session', async () => {
  const { runner } = await setUp(chunks, { autoCreateSession: true });
  await Promise.all(['a', 'b', 'c'].map((text) => runner.run({ ...saying(text), sessionId: 'new' })));
  const session = await runner.sessionService.getSession({ ...KEY, sessionId: 'new' });
  expect(session?.events.map(textOf)).toEqual(['a', 'Hello', 'b', 'Hello', 'c', 'Hello']);
});

test('a response to a call that cannot exist makes no session', async () => {
  const { runner } = await setUp(chunks, { autoCreateSession: true });
  const newMessage = { parts: [{ functionResponse: { id: 'x', response: {} } }] };
  await expect(runner.run({ userId: 'u', sessionId: 'new', newMessage })).rejects.toThrow(SessionNotFoundError);
  expect(await runner.sessionService.getSession({ ...KEY, sessionId: 'new' })).toBeUndefined();
});

// The runner itself.

test.each([
  ['no name', { appName: '' }, 'appName must be a text that is not empty'],
  ['no agent', { agent: {} }, 'agent must be an agent'],
  ['no session service', { sessionService: undefined }, 'sessionService must be a session service'],
  ['an unknown option', { memory: {} }, 'memory is not supported by this version'],
  [
    'an endless lease',
    { leaseTtlMs: Infinity },
    'leaseTtlMs must be a positive number of milliseconds, and a lease at most a day',
  ],
  ['a lease of more than a day', { leaseTtlMs: 1e10 }, 'leaseTtlMs must be'],
  ['a text as a time', { leaseTtlMs: '15000' }, 'leaseTtlMs must be'],
  ['a text as another time', { requestTtlMs: '15000' }, 'requestTtlMs must be a positive number of milliseconds'],
])('a runner with %s is a configuration error', async (_, config, message) => {
  const { runner } = await setUp(chunks);
  const { agent, appName, sessionService } = runner;
  const make = () => new Runner({ appName, agent, sessionService, ...(config as object) });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('closing the runner closes its agent and its plugins', async () => {
  const closed: string[] = [];
  class Closing extends BasePlugin {
    override close(): void {
      closed.push(this.name);
    }
  }
  const agent = new CustomAgent(chunks);
  const { runner } = await setUp(chunks, { agent, plugins: [new Closing('one'), new Closing('two')] });
  await runner.close();
  expect(agent.isClosed).toBe(true);
  expect(closed).toEqual(['one', 'two']);
});

test('closing goes on behind what cannot be closed, and throws the first failure in the end', async () => {
  const closed: string[] = [];
  const close = (name: string, fails = false) => {
    closed.push(name);
    if (fails) throw new RangeError(name);
  };
  class Tool extends FunctionTool {
    override async close(): Promise<void> {
      close(this.name, this.name.startsWith('failing'));
    }
  }
  class Closing extends BasePlugin {
    override close(): void {
      close(this.name, true);
    }
  }
  const tool = (name: string) => new Tool({ name, description: '', execute: () => 1 });
  const child = (name: string, ...tools: Tool[]) => new LlmAgent({ name, model: new ScriptedModel([]), tools });
  const subAgents = [child('a', tool('failing_1'), tool('b')), child('c', tool('d'))];
  const agent = new LlmAgent({ name: 'e', model: new ScriptedModel([]), tools: [tool('failing_2')], subAgents });
  const plugins = [new Closing('f'), new Closing('g')];
  const { runner } = await setUp(chunks, { agent, plugins });
  await expect(runner.close()).rejects.toThrow(/^failing_2$/);
  expect(closed).toEqual(['failing_2', 'failing_1', 'b', 'd', 'f', 'g']);
});

test('a run has no completion event unless it is asked for', async () => {
  const { runner } = await setUp(chunks);
  expect((await runner.run(saying('hi'))).some(isRunnerCompletion)).toBe(false);
});
