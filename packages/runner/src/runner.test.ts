/* oxlint-disable eslint/require-yield -- agents that yield nothing are the point */
import {
  type AppendEventRequest,
  BasePlugin,
  ConfigurationError,
  type Event,
  InvalidMessageError,
  type RunLiveParams,
  type SessionLease,
  SessionNotFoundError,
  StateKeyError,
  StateValueError,
  type BeginRunRequest,
  type BegunRun,
  type EndRunRequest,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, modelEvent, ScriptedModel } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { expect, test } from 'vitest';
import { isCompletion } from './fixtures/is-completion.ts';
import { Runner } from './runner.ts';
import { chunks, CustomAgent } from './fixtures/custom-agent.ts';
import { KEY, saying, scenario, textOf } from './fixtures/scenario.ts';

// The order of a run.

class ClosableAgent extends CustomAgent {
  isClosed = false;

  override close(): void {
    this.isClosed = true;
  }
}

class OrderedService extends InMemorySessionService {
  readonly log: string[];

  constructor(log: string[]) {
    super({ platform: fixedPlatform() });
    this.log = log;
  }

  override async beginRun(request: BeginRunRequest): Promise<BegunRun> {
    this.log.push(request.message ? `begin with ${textOf(request.message)}` : 'begin');
    return super.beginRun(request);
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    this.log.push(`append ${textOf(request.event)}`);
    return super.appendEvent(request);
  }

  override async endRun(lease: SessionLease, request: EndRunRequest): Promise<Event | undefined> {
    this.log.push(`end with ${request.event?.object}`);
    return super.endRun(lease, request);
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

test('a run has the order session, message, agent, each event, end, unlock', async () => {
  const log: string[] = [];
  const { runner } = await scenario({
    async *agent() {
      log.push('agent');
      yield modelEvent('bot', 'one');
      log.push('agent continues');
      yield modelEvent('bot', 'two');
    },
    sessionService: new OrderedService(log),
    plugins: [new OrderedPlugin(log)],
  });
  for await (const event of runner.runAsync(saying('hi'))) log.push(`yield ${textOf(event)}`);
  expect(log).toEqual([
    'begin',
    'onUserMessage',
    'append hi',
    'beforeRun',
    'agent',
    'onEvent one',
    'append one',
    'yield one',
    'agent continues',
    'onEvent two',
    'append two',
    'yield two',
    'afterRun',
    'end with undefined',
  ]);
});

test('a message that does not depend on the session is stored by beginRun', async () => {
  const log: string[] = [];
  const { runner } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
    sessionService: new OrderedService(log),
  });
  await runner.run(saying('hi'));
  expect(log).toEqual(['begin with hi', 'append one', 'end with undefined']);
});

test('a resumable run stores its end with endRun', async () => {
  const log: string[] = [];
  const { runner } = await scenario({
    async *agent() {
      yield modelEvent('bot', 'one');
    },
    sessionService: new OrderedService(log),
  });
  await runner.run({ ...saying('hi'), runConfig: { resumable: true } });
  expect(log.at(-1)).toBe('end with runner.end');
});

// Input that is refused before anything is written

test.each([
  ['an empty message', { newMessage: { parts: [] } }, InvalidMessageError],
  [
    'a response to no call',
    { newMessage: { parts: [{ functionResponse: { id: 'x', response: {} } }] } },
    InvalidMessageError,
  ],
  ['a bad state key', { stateDelta: { '': 1 } }, StateKeyError],
  ['a state value that is not JSON', { stateDelta: { a: new Map() } }, StateValueError],
  ['an option that does not exist', { runConfig: { speed: 1 } as object }, ConfigurationError],
  ['a session that does not exist', { sessionId: 'other' }, SessionNotFoundError],
  ['blobs to save without a service', { runConfig: { saveInputBlobsAsArtifacts: true } }, ConfigurationError],
])('%s fails the run before anything is written', async (_, params, error) => {
  const { runner, session, run } = await scenario({
    async *agent() {
      expect.unreachable();
    },
  });
  await expect(run('hi', { ...params })).rejects.toThrow(error);
  const after = await session();
  expect(after.events).toEqual([]);
  expect(after.state).toEqual({});
  // The session is free again.
  await runner.sessionService.acquireLease({ ...KEY, onBusy: 'reject' });
});

test('a stream that is not read does nothing', async () => {
  const { runner, stored } = await scenario({
    async *agent() {
      expect.unreachable();
    },
  });
  runner.runAsync(saying('hi'));
  await runner.runAsync(saying('hi')).return();
  expect(await stored()).toEqual([]);
});

// Sessions made by a run.

test('with autoCreateSession a run creates its session', async () => {
  const { runner, run } = await scenario({ agent: chunks, autoCreateSession: true });
  await run('hi', { sessionId: 'new' });
  const session = await runner.sessionService.getSession({ ...KEY, sessionId: 'new' });
  expect(session?.events.map(textOf)).toEqual(['hi', 'Hello']);
});

test('concurrent runs create one session', async () => {
  const { runner, run } = await scenario({ agent: chunks, autoCreateSession: true });
  await Promise.all(['a', 'b', 'c'].map((text) => run(text, { sessionId: 'new' })));
  const session = await runner.sessionService.getSession({ ...KEY, sessionId: 'new' });
  expect(session?.events.map(textOf)).toEqual(['a', 'Hello', 'b', 'Hello', 'c', 'Hello']);
});

test('a response to an unknown call creates no session', async () => {
  const { runner } = await scenario({ agent: chunks, autoCreateSession: true });
  const newMessage = { parts: [{ functionResponse: { id: 'x', response: {} } }] };
  await expect(runner.run({ userId: 'u', sessionId: 'new', newMessage })).rejects.toThrow(SessionNotFoundError);
  expect(await runner.sessionService.getSession({ ...KEY, sessionId: 'new' })).toBeUndefined();
});

// The runner itself.

test.each([
  ['no name', { appName: '' }, 'appName is missing'],
  ['no agent', { agent: {} }, 'agent: expected an agent'],
  ['no session service', { sessionService: undefined }, 'sessionService: expected a session service'],
  [
    'a class as its sessions',
    { sessionService: InMemorySessionService },
    'got the class InMemorySessionService; write',
  ],
  [
    'sessions as its artifacts',
    { artifactService: new InMemorySessionService() },
    'artifactService: expected an artifact service, got an object of the class InMemorySessionService; write artifactService: new InMemoryArtifactService()',
  ],
  ['a memory service without methods', { memoryService: {} }, 'memoryService: expected a memory service'],
  [
    'a credential service without methods',
    { credentialService: {} },
    'credentialService: expected a credential service',
  ],
  ['an unknown option', { memory: {} }, 'has no option "memory"; did you mean "memoryService"?'],
  [
    'an endless lease',
    { leaseTtlMs: Infinity },
    'leaseTtlMs: expected a positive number of milliseconds, at most a day',
  ],
  ['a lease of more than a day', { leaseTtlMs: 1e10 }, 'leaseTtlMs: expected a positive number'],
  ['live that was not called', { live: () => undefined }, 'live: expected live support'],
  ['a text as a time', { leaseTtlMs: '15000' }, 'leaseTtlMs: expected a positive number'],
  ['a text as another time', { requestTtlMs: '15000' }, 'requestTtlMs: expected a positive number of milliseconds'],
])('a runner with %s is a configuration error', async (_, config, message) => {
  const { runner } = await scenario({ agent: chunks });
  const { agent, appName, sessionService } = runner;
  const make = () => new Runner({ appName, agent, sessionService, ...(config as object) });
  expect(make).toThrow(ConfigurationError);
  expect(make).toThrow(message);
});

test('runLive without live support throws an error that names it, and stores nothing', async () => {
  const { runner, stored } = await scenario({ agent: chunks });
  const liveRequestQueue = {} as RunLiveParams['liveRequestQueue'];
  const stream = runner.runLive({ userId: 'u', sessionId: 's', liveRequestQueue });
  const error: unknown = await stream.next().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigurationError);
  expect((error as Error).message).toContain('install @eventloom/live');
  expect((error as Error).message).toContain('live: live()');
  expect(await stored()).toEqual([]);
});

test('closing the runner closes its agent and plugins', async () => {
  const closed: string[] = [];
  class Closing extends BasePlugin {
    override close(): void {
      closed.push(this.name);
    }
  }
  const agent = new ClosableAgent('bot', chunks);
  const { runner } = await scenario({ agent, plugins: [new Closing('one'), new Closing('two')] });
  await runner.close();
  expect(agent.isClosed).toBe(true);
  expect(closed).toEqual(['one', 'two']);
});

test('close continues after a failure and throws the first failure at the end', async () => {
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
  const { runner } = await scenario({ agent, plugins });
  await expect(runner.close()).rejects.toThrow(/^failing_2$/);
  expect(closed).toEqual(['failing_2', 'failing_1', 'b', 'd', 'f', 'g']);
});

test('a run has no completion event by default', async () => {
  const { run } = await scenario({ agent: chunks });
  expect((await run()).some(isCompletion)).toBe(false);
});
