import { node, Workflow } from '@eventloom/adk';
import type { RunConfig } from '@eventloom/core';
import { StateGraph, START, END } from '@eventloom/graph';
import { LlmAgent } from '@eventloom/llm-agent';
import { AgentTool } from '@eventloom/multi-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, ScriptedModel, type ScriptedStep, testContext } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { dev, SpanStore, type SpanStoreOptions, type StoredSpan } from './index.ts';

const look = (): FunctionTool =>
  new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ seen: 1 }) });

interface SetUp {
  readonly store?: SpanStoreOptions;
  readonly isPrivate?: boolean;
  /** The last reply of a run. */
  readonly reply?: ScriptedStep;
}

/** The files of the page. */
const FILES: ReadonlySet<string> = new Set(['index.html', 'main.js', 'main-56POKOKQ.js']);

async function setUp(options: SetUp = {}) {
  const platform = fixedPlatform();
  const spans = new SpanStore(options.store);
  const inner = new LlmAgent({ name: 'inner', model: new ScriptedModel(['inner answer'], { model: 'scripted' }) });
  const calls = [{ name: 'look' }, { name: 'inner', args: { request: 'x' } }];
  const agent = new LlmAgent({
    name: 'helper',
    model: new ScriptedModel([{ calls }, ...Array<ScriptedStep>(20).fill(options.reply ?? 'done')], {
      model: 'scripted',
    }),
    tools: [look(), new AgentTool({ agent: inner })],
  });
  const sessionService = new InMemorySessionService({ platform });
  const runner = new Runner({
    appName: 'app',
    agent,
    sessionService,
    platform,
    autoCreateSession: true,
    instrumentation: spans,
  });
  const server = createServer({
    runners: [runner],
    protocols: [dev({ spans, ui: async (path) => (FILES.has(path) ? new TextEncoder().encode('page') : undefined) })],
    ...(options.isPrivate
      ? { authenticate: (request: Request) => ({ userId: request.headers.get('x-user') ?? '' }) }
      : {}),
  });
  const get = async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    server.fetch(new Request(`http://localhost${path}`, { headers }));
  const run = async (userId = 'user', sessionId = 's', text = 'hi', runConfig: RunConfig = {}) => {
    platform.advance(10);
    return runner.run({ userId, sessionId, newMessage: { parts: [{ text }] }, runConfig });
  };
  return { platform, spans, get, run };
}

const KEY = { appName: 'app', userId: 'user', sessionId: 's' };

test('the spans of a run have their parents and are read by their session', async () => {
  const { get, run } = await setUp();
  await run();
  const spans = (await (await get('/dev/apps/app/users/user/sessions/s/spans')).json()) as StoredSpan[];
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  expect(spans.map(({ name, parentSpanId = '' }) => `${name} < ${nameOf.get(parentSpanId)}`)).toEqual([
    'invoke_workflow app < undefined',
    'invoke_agent helper < invoke_workflow app',
    'chat scripted < invoke_agent helper',
    'execute_tool look < invoke_agent helper',
    'execute_tool inner < invoke_agent helper',
    'invoke_agent inner < execute_tool inner',
    'chat scripted < invoke_agent inner',
    'chat scripted < invoke_agent helper',
  ]);
  expect(spans.every(({ status, endMs }) => status === 'ok' && endMs !== undefined)).toBe(true);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
});

test('spans are read without messages, arguments and results unless the request asks for them', async () => {
  const { get, run } = await setUp();
  await run('user', 's', 'the question of ann');
  const path = '/dev/apps/app/users/user/sessions/s/spans';
  expect(await (await get(path)).text()).toContain('the question of ann');
  const spans = (await (await get(`${path}?content=false`)).json()) as StoredSpan[];
  expect(spans).toHaveLength(8);
  expect(JSON.stringify(spans)).not.toMatch(/question of ann|inner answer|seen/);
  expect(spans[3]?.attributes['gen_ai.tool.name']).toBe('look');
});

test('the span of a model call has the model that answered and its tokens', async () => {
  const usageMetadata = {
    promptTokenCount: 10,
    cachedContentTokenCount: 4,
    candidatesTokenCount: 2,
    thoughtsTokenCount: 3,
  };
  const { get, run } = await setUp({
    reply: { text: 'done', response: { usageMetadata, modelVersion: 'scripted-2' } },
  });
  await run();
  const spans = (await (await get('/dev/apps/app/users/user/sessions/s/spans')).json()) as StoredSpan[];
  expect(spans.at(-1)).toMatchObject({
    name: 'chat scripted',
    attributes: {
      'gen_ai.response.model': 'scripted-2',
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.usage.output_tokens': 5,
    },
  });
});

test('the span of a model call has a time to the first chunk only if the reply was streamed', async () => {
  const { run, spans } = await setUp({ reply: { chunks: ['do', 'ne'] } });
  await run();
  const firstChunks = (): unknown[] =>
    spans
      .list(KEY)
      .filter(({ kind }) => kind === 'model')
      .map(({ attributes }) => attributes['gen_ai.response.time_to_first_chunk']);
  expect(firstChunks()).toEqual([undefined, undefined, undefined]);
  await run('user', 's', 'hi', { streamingMode: 'sse' });
  expect(firstChunks().slice(3)).toEqual([0]);
});

test('the spans of a failed run have the message of the error and its causes, without keys', async () => {
  const key = `AIza${'x'.repeat(35)}`;
  const refused = new Error(`API key not valid: ${key}`, {
    cause: new TypeError('fetch failed', { cause: 'no route to host' }),
  });
  const { get, run, spans } = await setUp({ reply: { error: refused } });
  await expect(run()).rejects.toThrow();
  const path = '/dev/apps/app/users/user/sessions/s/spans';
  for (const query of ['', '?content=false']) {
    const read = (await (await get(path + query)).json()) as StoredSpan[];
    const failed = read.filter(({ status }) => status === 'error').map(({ kind, attributes }) => [kind, attributes]);
    const message = 'API key not valid: [redacted]';
    expect(failed).toMatchObject([
      ['run', { 'error.type': 'MODEL_ERROR', 'error.message': `the model of agent "helper" failed: ${message}` }],
      ['agent', { 'error.message': `the model of agent "helper" failed: ${message}` }],
      [
        'model',
        {
          'error.type': 'Error',
          'error.message': message,
          'error.cause': 'TypeError: fetch failed\nError: no route to host',
        },
      ],
    ]);
    expect(JSON.stringify(read)).not.toContain(key);
  }
  spans.forget(KEY);
  expect(spans.bytes).toBe(0);
});

test('the span of a reply with an error has its message, and none has texts of errors in a store without content', async () => {
  const reply: ScriptedStep = { response: { errorCode: 'SAFETY', errorMessage: 'It was blocked.' } };
  const kept = await setUp({ reply });
  await kept.run().catch(() => undefined);
  expect(kept.spans.list(KEY).at(-1)?.attributes).toMatchObject({
    'error.type': 'SAFETY',
    'error.message': 'It was blocked.',
  });
  const bare = await setUp({ reply: { error: new Error('secret') }, store: { maxContentLength: 0 } });
  await bare.run().catch(() => undefined);
  expect(JSON.stringify(bare.spans.list(KEY))).not.toContain('secret');
  expect(bare.spans.list(KEY).at(-1)?.attributes).toMatchObject({ 'error.type': 'Error' });
});

test('a trace of the ADK names the event of each call, with the request and the response', async () => {
  const { get, run } = await setUp();
  const events = await run();
  const trace = (await (await get('/dev/apps/app/debug/trace/session/s')).json()) as {
    readonly name: string;
    readonly start_time: number;
    readonly attributes: Readonly<Record<string, string>>;
  }[];
  const first = trace.find(({ name }) => name === 'call_llm');
  expect(first?.attributes['gcp.vertex.agent.event_id']).toBe(events[0]?.id);
  expect(JSON.parse(first?.attributes['gcp.vertex.agent.llm_request'] ?? '')).toMatchObject({ model: 'scripted' });
  expect(trace.find(({ name }) => name === 'execute_tool look')?.attributes['gcp.vertex.agent.event_id']).toBe(
    events[1]?.id,
  );
  expect(trace[1]?.attributes['gen_ai.conversation.id']).toBe('s');
  const last = await get(`/dev/apps/app/debug/trace/${events.at(-1)?.id}`);
  expect(await last.json()).toMatchObject({ 'gcp.vertex.agent.event_id': events.at(-1)?.id });
  expect((await get('/dev/apps/app/debug/trace/nothing')).status).toBe(404);
});

test('a user gets no spans of another user', async () => {
  const { get, run } = await setUp({ isPrivate: true });
  await run('ann');
  const path = '/dev/apps/app/debug/trace/session/s';
  expect(await (await get(path, { 'x-user': 'ann' })).json()).not.toEqual([]);
  expect(await (await get(path, { 'x-user': 'bob' })).json()).toEqual([]);
  const referer = 'http://localhost/dev-ui/?userId=ann';
  expect(await (await get(path, { 'x-user': 'bob', referer })).json()).toEqual([]);
  expect((await get(`${path}?user_id=ann`, { 'x-user': 'bob' })).status).toBe(200);
  expect(await (await get(`${path}?user_id=ann`, { 'x-user': 'bob' })).json()).toEqual([]);
  expect((await get('/dev/apps/app/users/ann/sessions/s/spans', { 'x-user': 'bob' })).status).toBe(403);
});

test('without authentication the user is the one on the page', async () => {
  const { get, run } = await setUp();
  await run('ann');
  const path = '/dev/apps/app/debug/trace/session/s';
  expect(await (await get(path)).json()).toEqual([]);
  expect(await (await get(path, { referer: 'http://localhost/dev-ui/?userId=ann' })).json()).toHaveLength(8);
  expect(await (await get(`${path}?user_id=ann`)).json()).toHaveLength(8);
});

describe('the store', () => {
  test('keeps the latest spans of a session', async () => {
    const { spans, run } = await setUp({ store: { maxSpansPerSession: 4 } });
    await run();
    expect(spans.list(KEY)).toHaveLength(4);
    expect(spans.list(KEY).at(-1)?.name).toBe('chat scripted');
  });

  test('keeps no more bytes than its limit, and drops the idle sessions first', async () => {
    const { spans, run } = await setUp({ store: { maxBytes: 30_000 } });
    for (let session = 0; session < 8; session++) {
      await run('user', `s${session}`, 'x'.repeat(1000));
      expect(spans.bytes).toBeLessThanOrEqual(30_000);
    }
    expect(spans.list({ ...KEY, sessionId: 's0' })).toEqual([]);
    expect(spans.list({ ...KEY, sessionId: 's7' })).not.toEqual([]);
    for (let session = 0; session < 8; session++) spans.forget({ ...KEY, sessionId: `s${session}` });
    expect(spans.bytes).toBe(0);
  });

  test('drops spans that are too old', async () => {
    const { spans, run, platform } = await setUp({ store: { maxAgeMs: 1000 } });
    await run();
    platform.advance(1000);
    expect(spans.list(KEY)).toHaveLength(8);
    platform.advance(1);
    expect(spans.list(KEY)).toEqual([]);
    expect(spans.bytes).toBe(0);
  });

  test('adds up the tokens of the turns of a live connection, and uses the last count of a call', () => {
    const context = testContext();
    const tokensOf = (live: boolean, sessionId: string): unknown => {
      const store = new SpanStore();
      const model = new ScriptedModel([], { model: 'scripted' });
      const span = store.start(
        { kind: 'model', context, model, request: { contents: [], config: {}, toolsDict: {} }, live },
        undefined,
      );
      for (const promptTokenCount of [3, 4]) span.response?.({ usageMetadata: { promptTokenCount } });
      return store.list({ appName: context.appName, userId: context.userId, sessionId })[0]?.attributes;
    };
    const { id } = context.invocation.session;
    expect(tokensOf(true, id)).toMatchObject({ 'gen_ai.usage.input_tokens': 7 });
    expect(tokensOf(false, id)).toMatchObject({ 'gen_ai.usage.input_tokens': 4 });
  });

  test('keeps the newest messages of a request that is too long', () => {
    const store = new SpanStore({ maxContentLength: 1000 });
    const contents = ['old', 'x'.repeat(900), 'new'].map((text) => ({ role: 'user', parts: [{ text }] }));
    const context = testContext();
    const { appName, userId, invocation } = context;
    const model = new ScriptedModel([], { model: 'scripted' });
    const request = { contents, config: { systemInstruction: 'Be kind.' }, toolsDict: {} };
    store.start({ kind: 'model', context, model, request, live: false }, undefined);
    const [span] = store.list({ appName, userId, sessionId: invocation.session.id });
    expect(JSON.parse(String(span?.attributes['eventloom.request']))).toEqual({
      model: 'scripted',
      olderContentsLeftOut: 2,
      contents: contents.slice(2),
      config: request.config,
    });
  });

  test('keeps values that are not plain data as text, and omits values that are too long', () => {
    const context = testContext();
    const { appName, userId, invocation } = context;
    const resultOf = (result: unknown): unknown => {
      const store = new SpanStore({ maxContentLength: 100 });
      store.start({ kind: 'agent', context }, undefined).end({ status: 'ok', result });
      const key = { appName, userId, sessionId: invocation.session.id };
      expect(store.bytes).toBeLessThan(1000);
      return store.list(key)[0]?.attributes['gen_ai.tool.call.result'];
    };
    const round: Record<string, unknown> = {};
    round['self'] = round;
    const throwing = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => expect.unreachable('not readable'),
    });
    expect(resultOf({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
    expect(resultOf({ toJSON: () => 7 })).toBe('7');
    expect(resultOf(round)).toBe('"more than 100 characters left out"');
    expect(resultOf(throwing)).toContain('not readable');
    expect(resultOf('x'.repeat(200))).toBe('"more than 100 characters left out"');
  });

  test('keeps no content if its length is 0', async () => {
    const { spans, run } = await setUp({ store: { maxContentLength: 0 } });
    await run('user', 's', 'the secret of ann');
    expect(JSON.stringify(spans.list(KEY))).not.toContain('secret');
  });
});

describe('adk-web', () => {
  test('gets the agents of an app, with tools and sub-agents, and their drawing', async () => {
    const { get, run } = await setUp();
    const [event] = await run();
    expect(await (await get('/dev/apps/app/build_graph')).json()).toMatchObject({
      name: 'app',
      root_agent: { name: 'helper', type: 'agent', model: 'scripted', tools: [{ name: 'look' }, { name: 'inner' }] },
    });
    const { dotSrc } = (await (await get('/dev/apps/app/build_graph_image?dark_mode=true')).json()) as {
      dotSrc: string;
    };
    expect(dotSrc).toContain('"helper" -> "look"');
    const colored = await (await get(`/dev/apps/app/users/user/sessions/s/events/${event?.id}/graph`)).json();
    expect(colored).toMatchObject({ dotSrc: expect.stringContaining('"helper" -> "look" [penwidth=3]') });
    expect((await get('/dev/apps/app/build_graph_image?node=nothing')).status).toBe(404);
  });

  test('gets the graph of a graph agent', async () => {
    const agent = new StateGraph({ name: 'flow' })
      .addNode('see', look())
      .addNode('writer', new LlmAgent({ name: 'writer', model: new ScriptedModel([], { model: 'scripted' }) }))
      .addEdge(START, 'see')
      .addEdge('see', 'writer')
      .addEdge('writer', END)
      .compile();
    const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
    const { fetch } = createServer({ runners: [runner], protocols: [dev()] });
    const described = await (await fetch(new Request('http://localhost/dev/apps/app/build_graph'))).json();
    expect(described).toMatchObject({
      root_agent: {
        type: 'workflow',
        graph: {
          edges: expect.arrayContaining([
            { from_node: { name: '__START__', type: 'start' }, to_node: { name: 'see', type: expect.any(String) } },
          ]),
        },
      },
    });
  });

  test('gets the graph of a workflow', async () => {
    const writer = new LlmAgent({ name: 'writer', model: new ScriptedModel([], { model: 'scripted' }) });
    const trim = node((_context: unknown, text: string) => text.trim(), { name: 'trim' });
    const agent = new Workflow({ name: 'flow', edges: [['START', trim, writer]] });
    const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
    const { fetch } = createServer({ runners: [runner], protocols: [dev()] });
    const described = await (await fetch(new Request('http://localhost/dev/apps/app/build_graph'))).json();
    const trimmed = { name: 'trim', type: 'function' };
    const written = { name: 'writer', type: 'agent' };
    expect(described).toMatchObject({
      root_agent: {
        name: 'flow',
        type: 'workflow',
        graph: {
          nodes: [trimmed, { ...written, model: 'scripted' }],
          edges: [
            { from_node: { name: '__START__', type: 'start' }, to_node: trimmed },
            { from_node: trimmed, to_node: written },
            { from_node: written, to_node: { name: '__END__', type: 'end' } },
          ],
        },
      },
    });
  });

  test.each([
    ['eval_sets', []],
    ['eval-sets', { evalSetIds: [] }],
    ['eval_results', []],
    ['metrics-info', { metricsInfo: [] }],
    ['tests', []],
    ['eval_sets/set/evals', []],
  ])('has no %s', async (path, expected) => {
    const { get } = await setUp();
    expect(await (await get(`/dev/apps/app/${path}`)).json()).toEqual(expected);
  });

  test('is served from its folder, with this server as its own', async () => {
    const { get } = await setUp();
    expect(await (await get('/dev-ui/?app=app&session=s')).text()).toBe('page');
    expect(await (await get('/dev-ui/')).text()).toBe('page');
    expect((await get('/dev-ui?app=app')).headers.get('location')).toBe('dev-ui/?app=app');
    // Its router fails at the address of the file, and drops the query.
    expect((await get('/dev-ui/index.html?app=app')).headers.get('location')).toBe('./?app=app');
    expect(await (await get('/dev-ui/assets/config/runtime-config.json')).json()).toEqual({ backendUrl: '' });
    expect((await get('/dev-ui/other.js')).status).toBe(404);
  });

  test('lets a browser keep the files whose names hold a hash', async () => {
    const { get } = await setUp();
    const caching = async (path: string) => (await get(path)).headers.get('cache-control');
    expect(await caching('/dev-ui/')).toBe('no-cache');
    expect(await caching('/dev-ui/main.js')).toBe('no-cache');
    expect(await caching('/dev-ui/main-56POKOKQ.js')).toBe('public, max-age=31536000, immutable');
  });
});
