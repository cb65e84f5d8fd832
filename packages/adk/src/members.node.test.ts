import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { LlmRequest } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { ScriptedModel } from '@eventloom/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  BaseAgent,
  BasePlugin,
  BaseTool,
  BaseToolset,
  createEvent,
  createSession,
  DatabaseSessionService,
  type Event,
  FileArtifactService,
  FunctionNode,
  FunctionTool,
  Gemini,
  getFunctionResponses,
  getLogger,
  getSessionServiceFromUri,
  InMemoryRunner,
  InMemorySessionService as AdkSessions,
  InvocationContext,
  isDatabaseConnectionString,
  LiveRequestQueue,
  LlmAgent,
  LoggingPlugin,
  LogLevel,
  PluginManager,
  type ReadonlyContext,
  setLogger,
  setLogLevel,
  type SaveArtifactRequest,
  State,
  TruncatingContextCompactor,
} from './index.ts';

const refusal = (code: string, start: string) =>
  expect.objectContaining({ code, message: expect.stringContaining(start) });

describe('members for unsupported operations', () => {
  test.each([
    [
      'new InvocationContext',
      () => Reflect.construct(InvocationContext, [{ invocationId: 'i' }]),
      'InvocationContext: a runner creates the contexts of its runs; write yield* agent.runAsync(context) to run another agent, and testContext()',
    ],
    [
      'useInteractionsApi: true',
      () => new Gemini({ apiKey: 'key', useInteractionsApi: true }),
      'Gemini: useInteractionsApi: true is not offered; remove it',
    ],
    [
      'new State with a schema',
      () => Reflect.construct(State, [{}, {}, { type: 'object' }]),
      'State: a schema is checked in the nodes of a workflow only; write stateSchema',
    ],
    [
      'registerPlugin without a plugin',
      () => new PluginManager().registerPlugin({} as BasePlugin),
      'PluginManager.registerPlugin: plugin: expected a plugin, got an object; write plugin: new LoggingPlugin()',
    ],
    [
      'registerPlugin with a name that is taken',
      () => new PluginManager([new LoggingPlugin()]).registerPlugin(new LoggingPlugin()),
      'PluginManager.registerPlugin: there is a plugin "logging_plugin" already; give one of them another name',
    ],
  ])('%s throws a ConfigurationError that says what to write', (_title, use, message) => {
    expect(use).toThrow(refusal('CONFIGURATION', message));
  });

  test.each([[undefined], [{}], [{ text: 'hello' }]])('LiveRequestQueue.send refuses %o', (request) => {
    const queue = new LiveRequestQueue();
    expect(() => queue.send(request as never)).toThrow(
      refusal('INVALID_MESSAGE', 'LiveRequestQueue.send: expected an object with content, blob'),
    );
  });
});

describe('a LiveRequestQueue', () => {
  const content = { role: 'user', parts: [{ text: 'hi' }] };

  test('gives each of several waiting readers one request, in order', async () => {
    const queue = new LiveRequestQueue();
    const reads = [queue.get(), queue.get(), queue.get()];
    queue.send({ content });
    queue.send({ activityEnd: {} });
    queue.send({ close: true });
    expect(await Promise.all(reads)).toEqual([{ content }, { activityEnd: {} }, { close: true }]);
    expect(() => queue.send({ content })).toThrow('LiveRequestQueue: is closed');
  });

  test('gives the start of an activity as it was sent', async () => {
    const queue = new LiveRequestQueue();
    queue.send({ activityStart: {} });
    expect(await queue.get()).toEqual({ activityStart: {} });
  });

  test('keeps the request that an aborted reader did not get', async () => {
    const queue = new LiveRequestQueue();
    const controller = new AbortController();
    const aborted = queue.get(controller.signal);
    controller.abort(new Error('left'));
    await expect(aborted).rejects.toThrow('left');
    queue.send({ content });
    expect(await queue.get()).toEqual({ content });
  });
});

test('a plugin that is registered after the first run sees the next one', async () => {
  class Watcher extends BasePlugin {
    readonly seen: string[] = [];
    override beforeRunCallback({ invocationContext }: { invocationContext: InvocationContext }): undefined {
      this.seen.push(invocationContext.userId);
    }
  }
  const agent = new LlmAgent({ name: 'a', beforeAgentCallback: () => ({ role: 'model', parts: [{ text: 'hi' }] }) });
  const runner = new InMemoryRunner({ agent });
  const run = async (userId: string) => {
    for await (const event of runner.runEphemeral({ userId, newMessage: { parts: [{ text: 'hi' }] } })) void event;
  };
  const watcher = new Watcher('eventloom-watcher');
  await run('ann');
  expect(runner.pluginManager.hasPlugins).toBe(false);
  runner.pluginManager.registerPlugin(watcher);
  expect(runner.pluginManager.hasPlugins).toBe(true);
  await run('bob');
  expect(watcher.seen).toEqual(['bob']);
});

describe('a class of the program with a member of the ADK that nothing here calls is refused:', () => {
  class Hooked extends BaseAgent {
    handleBeforeAgentCallback() {}
    protected override async *runAsyncImpl(): AsyncGenerator<Event, void, void> {}
  }
  class Asking extends LlmAgent {
    async *callLlmAsync() {}
  }
  class Proxied extends Gemini {
    getHttpOptions() {
      return { headers: { 'x-tenant': 'acme' } };
    }
  }
  class Versioned extends Gemini {
    get liveApiVersion() {
      return 'v1beta';
    }
  }
  class Checked extends FunctionNode {
    validateOutput(output: unknown) {
      return output;
    }
  }
  class Confirmed extends FunctionTool {
    checkRequireConfirmation() {
      return Promise.resolve(true);
    }
  }
  class Toolset extends BaseToolset {
    processLlmRequest() {}
    override getTools() {
      return Promise.resolve([]);
    }
    override async close() {}
  }
  class Appending extends Gemini {
    maybeAppendUserContent() {}
  }
  class Evening extends TruncatingContextCompactor {
    shouldCompact() {
      return false;
    }
  }
  class Instructed extends LlmAgent {
    override async canonicalInstruction(context: ReadonlyContext) {
      return super.canonicalInstruction(context);
    }
  }
  class Tenant extends Instructed {
    override get canonicalModel() {
      return super.canonicalModel;
    }
  }
  const tool = new Confirmed({ name: 'pay', description: 'Pays.', execute: () => 1 });

  test.each([
    ['an agent', () => new Hooked({ name: 'a' }), 'agent "a": the class defines handleBeforeAgentCallback'],
    ['an LLM agent', () => new Asking({ name: 'a' }), 'agent "a": the class defines callLlmAsync'],
    ['a model', () => new Proxied({ apiKey: 'key' }), 'Gemini: the class defines getHttpOptions'],
    ['a live model', () => new Versioned({ apiKey: 'key' }), 'Gemini: the class defines liveApiVersion'],
    [
      'a model that appends',
      () => new Appending({ apiKey: 'key' }),
      'Gemini: the class defines maybeAppendUserContent',
    ],
    [
      'a compactor',
      () => new LlmAgent({ name: 'a', contextCompactors: [new Evening({ threshold: 2 })] }),
      'agent "a": contextCompactors: the class defines shouldCompact',
    ],
    [
      'an LLM agent with an instruction',
      () => new Instructed({ name: 'a' }),
      'agent "a": the class overrides canonicalInstruction, which is not called here; write instruction: (context) => …',
    ],
    ['an LLM agent with a model', () => new Tenant({ name: 'a' }), 'agent "a": the class overrides canonicalModel'],
    ['a node', () => new Checked('n', () => 1), 'node "n": the class defines validateOutput'],
    [
      'a tool',
      () => new LlmAgent({ name: 'a', tools: [tool] }),
      'tool "pay": the class defines checkRequireConfirmation',
    ],
    [
      'a toolset',
      () => new LlmAgent({ name: 'a', tools: [new Toolset([])] }),
      'toolset Toolset: the class defines processLlmRequest, which is not called here; write processLlmRequest in a tool of the toolset',
    ],
  ])('%s', (_title, construct, message) => {
    expect(construct).toThrow(refusal('CONFIGURATION', message));
  });
});

describe('a class of the program that extends a service which is opened', () => {
  test('overrides methods of FileArtifactService, and calls those of the service', async () => {
    const rootDir = mkdtempSync(join(tmpdir(), 'eventloom-artifacts-'));
    onTestFinished(() => rmSync(rootDir, { recursive: true }));
    class Files extends FileArtifactService {
      readonly saved: string[] = [];

      constructor() {
        super(rootDir);
      }

      override async saveArtifact(request: SaveArtifactRequest): Promise<number> {
        this.saved.push(request.filename);
        return super.saveArtifact(request);
      }
    }
    const key = { appName: 'a', userId: 'u', sessionId: 's', filename: 'notes.txt' };
    const [files, others] = [new Files(), new FileArtifactService(rootDir)];
    await files.saveArtifact({ ...key, artifact: { text: 'one' } });
    expect(files.saved).toEqual(['notes.txt']);
    expect(await others.loadArtifact(key)).toMatchObject({ text: 'one' });
    expect([files instanceof Files, files instanceof FileArtifactService, others instanceof Files]).toEqual([
      true,
      true,
      false,
    ]);
  });

  test('is refused for DatabaseSessionService, whose methods it could not override', () => {
    const Base: new (url: string) => object = DatabaseSessionService;
    class Sessions extends Base {}
    expect(() => new Sessions('sqlite://:memory:')).toThrow(
      refusal(
        'CONFIGURATION',
        'DatabaseSessionService: cannot be extended; write a class that extends BaseSessionService',
      ),
    );
  });
});

test('createSession gives lastUpdateTime in seconds', () => {
  const at = (lastUpdateTime?: number) =>
    createSession({ id: 's', appName: 'a', ...(lastUpdateTime !== undefined && { lastUpdateTime }) }).lastUpdateTime;
  expect([at(1_700_000_000_500), at(1_700_000_000.5), at()]).toEqual([1_700_000_000.5, 1_700_000_000.5, 0]);
});

test('appendEvent to a session that was never stored says so', async () => {
  const session = createSession({ id: 'z', appName: 'a', userId: 'u' });
  const append = async () => new AdkSessions().appendEvent({ session, event: createEvent({ author: 'user' }) });
  await expect(append()).rejects.toThrow(/session "z".* is not stored, or was deleted after it was read/);
});

test('isDatabaseConnectionString recognizes the URLs of databases of the ADK', () => {
  const urls = ['sqlite://:memory:', 'postgres://h/d', 'mysql://h/d', 'memory://', 'SQLITE://a', '', undefined];
  expect(urls.map((url) => isDatabaseConnectionString(url))).toEqual([true, true, true, false, false, false, false]);
});

test('LogLevel has the names of its levels', () => {
  const levels = [LogLevel.DEBUG, LogLevel.INFO, LogLevel.WARN, LogLevel.ERROR];
  expect(levels.map((level) => LogLevel[level])).toEqual(['DEBUG', 'INFO', 'WARN', 'ERROR']);
  expect(() => setLogLevel('DEBUG' as never)).toThrow(refusal('CONFIGURATION', 'setLogLevel: expected a level'));
});

test('a LoggingPlugin writes to the logger of the program', async () => {
  const lines: string[] = [];
  const note = (...args: unknown[]): void => void lines.push(args.join(' '));
  const logger = getLogger();
  setLogger({ setLogLevel() {}, log: note, debug: note, info: note, warn: note, error: note });
  onTestFinished(() => setLogger(logger));
  const agent = new LlmAgent({ name: 'a', beforeAgentCallback: () => ({ role: 'model', parts: [{ text: 'hi' }] }) });
  const runner = new InMemoryRunner({ agent, plugins: [new LoggingPlugin('log')] });
  const run = runner.runEphemeral({ userId: 'ann', newMessage: { parts: [{ text: 'hi' }] } });
  for await (const event of run) void event;
  expect(lines).toContain('[log] INVOCATION STARTING');
});

test('a database is ready after init', async () => {
  const sessions = new DatabaseSessionService('sqlite://:memory:');
  await sessions.init();
  const { id: sessionId } = await sessions.createSession({ appName: 'app', userId: 'u', state: { k: 1 } });
  expect(await sessions.getSession({ appName: 'app', userId: 'u', sessionId })).toMatchObject({ state: { k: 1 } });
  expect(sessions).not.toBeInstanceOf(InMemorySessionService);
});

test('a database is an instance of DatabaseSessionService', () => {
  expect(new DatabaseSessionService('sqlite://:memory:')).toBeInstanceOf(DatabaseSessionService);
  expect(new InMemorySessionService()).not.toBeInstanceOf(DatabaseSessionService);
});

test.each([
  [
    { dbName: 'sessions' },
    'DatabaseSessionService: expected a URL, got an object: options of MikroORM are not offered',
  ],
  ['mysql://localhost/sessions', 'DatabaseSessionService: the scheme "mysql" is not offered'],
])('DatabaseSessionService refuses %o', (given, message) => {
  expect(() => new DatabaseSessionService(given as string)).toThrow(refusal('CONFIGURATION', message));
});

test('getSessionServiceFromUri refuses another scheme under its own name', () => {
  expect(() => getSessionServiceFromUri('foo://sessions')).toThrow(
    refusal(
      'CONFIGURATION',
      'getSessionServiceFromUri: the scheme "foo" is not offered; write getSessionServiceFromUri(',
    ),
  );
});

test('a tool may add itself to the toolsDict of a request that has no tools', async () => {
  class Own extends BaseTool {
    override async processLlmRequest({ llmRequest }: { llmRequest: LlmRequest }): Promise<void> {
      Object.assign(llmRequest.toolsDict, { own: this });
    }

    override async runAsync(): Promise<string> {
      return 'ran';
    }
  }
  const model = new ScriptedModel([{ calls: [{ name: 'own' }] }, 'Done.']);
  const tools = [new Own({ name: 'own', description: 'Runs.' })];
  const runner = new InMemoryRunner({ agent: new LlmAgent({ name: 'a', model, tools }) });
  const responses = [];
  for await (const event of runner.runEphemeral({ userId: 'ann', newMessage: { parts: [{ text: 'hi' }] } }))
    responses.push(...getFunctionResponses(event).map(({ response }) => response));
  expect(responses).toEqual([{ result: 'ran' }]);
});

test.each(['adk_internal_metadata', 'app_states'])(
  'DatabaseSessionService refuses a file with the table %s of the ADK, and adds no tables',
  (table) => {
    const folder = mkdtempSync(join(tmpdir(), 'eventloom-adk-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'adk.db');
    const database = new DatabaseSync(path);
    onTestFinished(() => database.close());
    database.exec(`CREATE TABLE sessions (id TEXT); CREATE TABLE ${table} (key TEXT)`);
    expect(() => new DatabaseSessionService(`sqlite://${path}`)).toThrow(
      refusal('CONFIGURATION', 'has the tables of @google/adk'),
    );
    expect(database.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'sessions' }, { name: table }]);
  },
);

test('DatabaseSessionService opens its own file again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-adk-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const url = `sqlite://${join(folder, 'sessions.db')}`;
  const { id: sessionId } = await new DatabaseSessionService(url).createSession({ appName: 'app', userId: 'u' });
  const again = new DatabaseSessionService(url);
  expect(await again.getSession({ appName: 'app', userId: 'u', sessionId })).toMatchObject({ id: sessionId });
});

test.each([
  ['a database', () => new DatabaseSessionService('sqlite://:memory:')],
  ['the memory', () => new AdkSessions()],
])('a list of all sessions in %s has their counts, and a page has none', async (_title, open) => {
  const sessions = open();
  const key = { appName: 'app', userId: 'u' };
  expect(await sessions.listSessions(key)).toMatchObject({ page: 1, limit: 0, totalItems: 0, totalPages: 0 });
  await sessions.createSession(key);
  await sessions.createSession(key);
  expect(await sessions.listSessions(key)).toMatchObject({ page: 1, limit: 2, totalItems: 2, totalPages: 1 });
  expect(await sessions.listSessions({ ...key, limit: 1 })).not.toHaveProperty('totalItems');
});

test('a database takes times in milliseconds, and gives events the lists of the ADK', async () => {
  const sessions = new DatabaseSessionService('sqlite://:memory:');
  const key = { appName: 'app', userId: 'u' };
  const session = await sessions.createSession(key);
  const content = { role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] };
  const stored = await sessions.appendEvent({ session, event: { ...createEvent(), timestamp: 1.8e12, content } });
  expect(stored).toMatchObject({ timestamp: 1.8e9, object: 'tool.response' });
  const read = (afterTimestamp: number) =>
    sessions.getSession({ ...key, sessionId: session.id, config: { afterTimestamp } });
  expect((await read(1.8e12))?.events).toMatchObject([{ id: stored.id, longRunningToolIds: [] }]);
  expect((await read(1.8e12 + 1))?.events).toEqual([]);
});

test('state without a run keeps its changes in the delta that it was given', () => {
  const value = { a: 1 };
  const delta: Record<string, unknown> = {};
  const state = new State(value, delta);
  expect(state.hasDelta()).toBe(false);
  state.set('b', 2);
  expect([delta, value, state.hasDelta()]).toEqual([{ b: 2 }, { a: 1, b: 2 }, true]);
});
