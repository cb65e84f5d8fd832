import type { BaseAgent, Content, Event } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner, type RunnerConfig } from '@eventloom/runner';
import type { EventloomServer } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { AgentTool, SequentialAgent } from '@eventloom/multi-agent';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { hurried } from './fixtures/hurried.ts';
import { PAY, payingAgent, serveAgent } from './fixtures/served-agent.ts';
import { RemoteA2AAgent, type RemoteA2AAgentOptions } from './index.ts';

const ADDRESS = 'http://localhost/a2a/app';

/** An agent that reaches a server in this process by its `fetch`. */
function remoteTo(server: EventloomServer, options: Partial<RemoteA2AAgentOptions> = {}): RemoteA2AAgent {
  return new RemoteA2AAgent({
    name: 'remote',
    description: 'Works elsewhere.',
    agentCard: ADDRESS,
    fetch: async (url, init) => server.fetch(new Request(url, init)),
    ...options,
  });
}

/** Answers every request with the result of a function. */
function remoteOf(answer: (request: Request) => Response | Promise<Response>, options: object = {}): RemoteA2AAgent {
  return new RemoteA2AAgent({
    name: 'remote',
    agentCard: ADDRESS,
    fetch: async (url, init) => answer(new Request(url, init)),
    ...options,
  });
}

async function setUp(agent: BaseAgent, options: Partial<RunnerConfig> = {}) {
  const sessionService = new InMemorySessionService();
  const key = { appName: 'local', userId: 'ann', sessionId: 's' };
  await sessionService.createSession(key);
  const runner = new Runner({ appName: 'local', agent, sessionService, ...options });
  const run = async (
    message: string | Content,
    streamingMode: 'none' | 'sse' = 'none',
    abortSignal?: AbortSignal,
    onEvent?: () => void,
  ): Promise<Event[]> => {
    const newMessage = typeof message === 'string' ? { parts: [{ text: message }] } : message;
    const events: Event[] = [];
    for await (const event of runner.runAsync({
      userId: 'ann',
      sessionId: 's',
      newMessage,
      runConfig: { streamingMode },
      abortSignal,
    })) {
      events.push(event);
      onEvent?.();
    }
    return events;
  };
  return { run, sessionService, key };
}

const textsOf = (events: readonly Event[]): string[] =>
  events.map(
    ({ partial, content }) => (partial === true ? '~' : '') + (content?.parts?.map(({ text }) => text).join('|') ?? ''),
  );
const answerTo = (events: readonly Event[], response: Record<string, unknown>): Content => {
  const call = events
    .flatMap(({ content }) => content?.parts ?? [])
    .find(({ functionCall }) => functionCall)?.functionCall;
  return { role: 'user', parts: [{ functionResponse: { id: call?.id ?? '', name: call?.name ?? '', response } }] };
};

const CARD = {
  name: 'far',
  capabilities: { streaming: true },
  supportedInterfaces: [{ url: ADDRESS, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
};
const task = (state: string, more: object = {}) => ({
  task: { id: 't', contextId: 'c', status: { state: `TASK_STATE_${state}` }, ...more },
});
const sse = (...results: object[]): Response =>
  new Response(results.map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  });
const answering = (answer: () => Response, options: object = {}) =>
  remoteOf(async (request) => {
    if (request.method === 'GET') return Response.json(CARD);
    const isCancel = (await request.text()).includes('CancelTask');
    return isCancel ? Response.json({ jsonrpc: '2.0', id: 1, result: task('CANCELED').task }) : answer();
  }, options);

describe('a chain of servers', () => {
  test.each([false, true])('passes a question on and the answer back, resumable: %s', async (resumable) => {
    const last = serveAgent(payingAgent([PAY, { text: 'Paid.' }]), {}, { resumable });
    const middle = serveAgent(remoteTo(last.server), {}, { resumable });
    const { run } = await setUp(remoteTo(middle.server));
    const asking = await run('pay');
    const answered = await run(answerTo(asking.slice(-1), { confirmed: true }));
    expect(textsOf(answered).filter((text) => text !== '')).toEqual(['Paid.']);
    const id = asking.at(-1)?.content?.parts?.[0]?.functionCall?.args?.['payload'] as { a2a: { taskId: string } };
    const ask = async (method: string, params: object): Promise<Record<string, unknown>> => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const response = await middle.server.fetch(new Request(ADDRESS, { method: 'POST', body }));
      return ((await response.json()) as { result: Record<string, unknown> }).result;
    };
    const { taskId } = id.a2a;
    const task = await ask('GetTask', { id: taskId });
    expect(task).toMatchObject({
      id: taskId,
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: expect.arrayContaining([expect.objectContaining({ parts: [{ text: 'Paid.' }] })]),
    });
    expect(await ask('ListTasks', { contextId: task['contextId'] })).toMatchObject({
      totalSize: 1,
      tasks: [{ id: taskId, status: task['status'] }],
    });
  });
});

test('agents that call each other in a circle end with an error', async () => {
  const servers = new Map<string, EventloomServer>();
  const requests: string[] = [];
  const callerOf = (name: string): RemoteA2AAgent =>
    remoteTo(
      {
        fetch: (request: Request) => {
          if (request.method === 'POST') requests.push(name);
          return servers.get(name)?.fetch(request) ?? new Response(null, { status: 500 });
        },
      } as EventloomServer,
      { name: `to_${name}` },
    );
  // The second agent calls the first one as a tool, in a session of its own.
  const tool = new AgentTool({ agent: callerOf('one') });
  const call: ScriptedStep = ({ contents }) => {
    const response = contents.at(-1)?.parts?.[0]?.functionResponse?.response;
    return response ? JSON.stringify(response) : { calls: [{ name: 'to_one', args: { request: 'hi' } }] };
  };
  const model = new ScriptedModel(Array.from({ length: 20 }, () => call));
  servers.set('one', serveAgent(callerOf('two')).server);
  servers.set('two', serveAgent(new LlmAgent({ name: 'two', model, tools: [tool] })).server);
  const { run } = await setUp(callerOf('one'));
  expect(textsOf(await run('hi')).join('')).toContain('passed 10 remote agents');
  expect(requests.length).toBe(11);
});

describe('a malicious server', () => {
  test('cannot make an agent compare an artifact once for each of its chunks', async () => {
    const part = (n: number): object => ({ url: `https://files.example/${n}` });
    const shown = Array.from({ length: 2000 }, (_, n) => part(n));
    const update = (parts: object[], append = false): object => ({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts }, append },
    });
    const others = [...shown.slice(0, 1998), part(-1)];
    const chunks = Array.from({ length: 500 }, () => update([part(-2)], true));
    const { run } = await setUp(
      answering(() => sse(task('WORKING'), update(shown), update(others), ...chunks, task('COMPLETED'))),
    );
    const stringify = vi.spyOn(JSON, 'stringify');
    onTestFinished(() => stringify.mockRestore());
    await run('hi');
    // Each comparison of two parts takes two calls. Comparing all parts for each chunk would take two million.
    expect(stringify.mock.calls.length).toBeLessThan(50_000);
  });

  test('cannot send artifacts without an end in streams that it ends again and again', async () => {
    const platform = hurried();
    let requests = 0;
    const { run } = await setUp(
      answering(
        () => {
          requests++;
          const artifact = { artifactId: `a${requests}`, parts: [{ text: 'x'.repeat(1000) }] };
          return sse(task('WORKING'), { artifactUpdate: { taskId: 't', contextId: 'c', artifact, lastChunk: true } });
        },
        { maxResponseBytes: 20_000 },
      ),
      { platform },
    );
    await expect(run('hi')).rejects.toMatchObject({ code: 'A2A_LIMIT' });
    expect(requests).toBe(20);
  });

  test.each(['file:///etc/passwd', 'ftp://localhost/x', 'http://ann:secret@localhost/a2a/app', 'javascript:alert(1)'])(
    'with the address %s in its card is refused',
    async (url) => {
      const card = { name: 'far', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] };
      const { run } = await setUp(remoteOf(() => Response.json(card)));
      const error: unknown = await run('hi').catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'A2A_PROTOCOL',
        message: expect.stringContaining('no address for JSON-RPC'),
      });
      expect(String(error)).not.toContain('secret');
    },
  );

  test('sends content of an artifact after the shown text and parts, which is shown too', async () => {
    const update = (parts: object[], append = false): object => ({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts }, append },
    });
    const { run } = await setUp(
      answering(() =>
        sse(
          task('WORKING'),
          update([{ text: 'one' }, { url: 'x:1' }, { text: 'two' }]),
          update([{ text: 'on' }]),
          update([{ text: 'e' }], true),
          update([{ text: '' }], true),
          update([{ url: 'x:1' }], true),
          update([{ text: 'two and' }], true),
          update([{ text: ' three' }, { url: 'x:2' }], true),
          task('COMPLETED'),
        ),
      ),
    );
    expect(textsOf(await run('hi', 'sse'))).toEqual(['~one||two', '~ and', '~ three|', 'one||two and three|']);
  });
});

describe('a secret', () => {
  test('in a header that cannot be sent is not in the error', async () => {
    const { run } = await setUp(
      remoteOf(() => expect.unreachable(), { headers: { authorization: 'Bearer a\nsecret' } }),
    );
    const error: unknown = await run('hi').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'A2A_PROTOCOL', message: expect.stringContaining('"authorization"') });
    expect(String(error)).not.toContain('secret');
  });

  test('in the query of an address is not in errors', async () => {
    const agentCard = `${ADDRESS}/card.json?key=secret`;
    const { run } = await setUp(remoteOf(() => new Response(null, { status: 404 }), { agentCard }));
    const error: unknown = await run('hi').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'A2A_PROTOCOL', message: expect.stringContaining('404') });
    expect(String(error)).not.toContain('secret');
  });

  test('in front of a host is refused, because requests cannot have it', () => {
    const create = (): RemoteA2AAgent =>
      new RemoteA2AAgent({ name: 'r', agentCard: 'https://ann:secret@agents.example/' });
    expect(create).toThrow(/write them in headers/);
    expect(create).not.toThrow(/secret/);
  });
});

describe('a remote agent', () => {
  test('streams the answer of its server, and continues the context', async () => {
    const { server, sessionService: remoteSessions } = serveAgent(
      payingAgent([{ chunks: ['one ', 'two'] }, { text: 'three' }]),
    );
    const { run } = await setUp(remoteTo(server));
    const first = await run('hi', 'sse');
    expect(textsOf(first)).toEqual(['~one ', '~two', 'one two']);
    expect(new Set(first.map(({ responseId }) => responseId)).size).toBe(1);
    const { customMetadata } = first.at(-1) as Event;
    expect(customMetadata).toEqual({
      'a2a:task_id': expect.stringContaining(':'),
      'a2a:context_id': expect.any(String),
    });
    expect(textsOf(await run('and?'))).toEqual(['three']);
    const sessionId = customMetadata?.['a2a:context_id'] as string;
    const session = await remoteSessions.getSession({ appName: 'app', userId: `A2A_USER_${sessionId}`, sessionId });
    expect(session?.events.filter(({ author }) => author === 'user').map(({ content }) => content?.parts)).toEqual([
      [{ text: 'hi' }],
      [{ text: 'and?' }],
    ]);
  });

  test('sends messages of other agents that its server has not seen', async () => {
    const { server, sessionService: remoteSessions } = serveAgent(payingAgent([{ text: 'Noted.' }]));
    const writer = new LlmAgent({ name: 'writer', model: new ScriptedModel(['A poem.']) });
    const { run } = await setUp(new SequentialAgent({ name: 'flow', subAgents: [writer, remoteTo(server)] }));
    expect(textsOf(await run('write'))).toEqual(['A poem.', 'Noted.']);
    const { sessions } = await remoteSessions.listSessions({ appName: 'app' });
    const { id: sessionId = '', userId = '' } = sessions[0] ?? {};
    const session = await remoteSessions.getSession({ appName: 'app', userId, sessionId });
    expect(session?.events[0]?.content?.parts).toEqual([
      { text: 'write' },
      { text: 'For context:' },
      { text: '[writer] said: A poem.' },
    ]);
  });

  test('answers as a tool of another agent', async () => {
    const { server } = serveAgent(payingAgent([{ text: 'Sunny.' }]));
    const model = new ScriptedModel([{ calls: [{ name: 'remote', args: { request: 'weather?' } }] }, 'It is sunny.']);
    const agent = new LlmAgent({ name: 'guide', model, tools: [new AgentTool({ agent: remoteTo(server) })] });
    const { run } = await setUp(agent);
    expect(JSON.stringify(await run('hi'))).toContain('"result":"Sunny."');
  });

  test.each([false, true])(
    'requests the input that its task requires, and answers it (resumable: %s)',
    async (resumable) => {
      const { server } = serveAgent(payingAgent([PAY, { text: 'Paid.' }]));
      const { run } = await setUp(remoteTo(server), { resumable });
      const asking = await run('pay');
      const question = asking.at(-1)?.content?.parts?.[0]?.functionCall;
      expect(question).toMatchObject({
        name: 'adk_request_input',
        args: { message: expect.stringContaining('pay'), response_schema: { required: ['confirmed'] } },
      });
      expect(asking.at(-1)?.longRunningToolIds).toEqual([question?.id]);
      const answer = answerTo(asking.slice(-1), { confirmed: true });
      const done = await run(answer);
      // A resumable run ends with an event of its own.
      expect(textsOf(done).filter((text) => text !== '')).toEqual(['Paid.']);
      expect(question?.args?.['payload']).toMatchObject({ a2a: { taskId: done[0]?.customMetadata?.['a2a:task_id'] } });
    },
  );

  test('sends its headers and the headers of the trace', async () => {
    const seen: Headers[] = [];
    const remote = remoteOf(
      ({ method, headers }) => {
        seen.push(headers);
        return method === 'GET' ? Response.json(CARD) : sse(task('COMPLETED'));
      },
      { headers: async () => ({ Authorization: 'Bearer secret' }) },
    );
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const active = { run: <T>(step: () => T): T => step(), end: () => undefined };
    const { run } = await setUp(remote, {
      instrumentation: [
        { start: ({ kind }) => (kind === 'agent' ? { ...active, traceHeaders: () => ({ traceparent }) } : active) },
      ],
    });
    await run('hi');
    expect(
      seen.map((headers) => [headers.get('authorization'), headers.get('traceparent'), headers.get('a2a-version')]),
    ).toEqual([
      ['Bearer secret', traceparent, '1.0'],
      ['Bearer secret', traceparent, '1.0'],
    ]);
  });

  test('continues the trace in the run of the server', async () => {
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const active = { run: <T>(step: () => T): T => step(), end: () => undefined };
    const continued: unknown[] = [];
    const { server } = serveAgent(
      payingAgent(['hello', { chunks: ['hel', 'lo'] }]),
      {},
      {
        instrumentation: [
          {
            start: (operation) => {
              if (operation.kind === 'run') continued.push(operation.traceHeaders);
              return active;
            },
          },
        ],
      },
    );
    const { run } = await setUp(remoteTo(server), {
      instrumentation: [
        { start: () => ({ ...active, traceHeaders: () => ({ traceparent, tracestate: 'vendor=1' }) }) },
      ],
    });
    await run('hi');
    await run('hi', 'sse');
    expect(continued).toEqual([
      { traceparent, tracestate: 'vendor=1' },
      { traceparent, tracestate: 'vendor=1' },
    ]);
  });

  test('cancels its task when the run is aborted', async () => {
    const { server } = serveAgent(payingAgent([{ chunks: ['one', new Gate(), 'two'] }]));
    const cancelled = Promise.withResolvers<string>();
    const remote = remoteTo(server, {
      fetch: async (url, init) => {
        const response = await server.fetch(new Request(url, init));
        if (typeof init.body === 'string' && init.body.includes('CancelTask'))
          cancelled.resolve(await response.clone().text());
        return response;
      },
    });
    const { run } = await setUp(remote);
    const controller = new AbortController();
    const running = run('hi', 'sse', controller.signal, () => controller.abort());
    await expect(running).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    expect(await cancelled.promise).toContain('TASK_STATE_CANCELED');
  });

  test('speaks 0.3 with a server whose card is of 0.3, without a stream if it has none', async () => {
    const seen: unknown[] = [];
    const remote = remoteOf(async (request) => {
      if (request.method === 'GET') return Response.json({ name: 'old', url: ADDRESS, capabilities: {} });
      seen.push(await request.json());
      const status = { state: 'completed' };
      const artifacts = [
        {
          artifactId: 'a',
          parts: [
            { kind: 'text', text: 'Old ' },
            { kind: 'text', text: 'words.' },
            { kind: 'data', data: { a: 1 } },
          ],
        },
      ];
      return Response.json({
        jsonrpc: '2.0',
        id: 1,
        result: { kind: 'task', id: 't', contextId: 'c', status, artifacts },
      });
    });
    const { run } = await setUp(remote);
    expect(textsOf(await run('hi'))).toEqual(['Old words.{"a":1}']);
    expect(seen).toMatchObject([
      {
        method: 'message/send',
        params: { message: { kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] } },
      },
    ]);
  });

  test('shows each artifact once, whatever the order of its pieces, and messages of a working task as thoughts', async () => {
    const update = (parts: object[], more: object = {}, artifactId = 'a') => ({
      artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId, parts }, ...more },
    });
    const remote = answering(() =>
      sse(
        task('WORKING', { artifacts: [{ artifactId: 'z', parts: [{ text: 'early' }] }] }),
        {
          statusUpdate: {
            taskId: 't',
            contextId: 'c',
            status: {
              state: 'TASK_STATE_WORKING',
              message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'searching' }] },
            },
          },
        },
        update([{ text: 'one ' }]),
        update([{ text: 'two' }], { append: true, lastChunk: true }),
        update([{ text: 'lost' }], {}, 'b'),
        update([{ text: 'found' }], {}, 'b'),
        update([{ data: { name: 'f' }, metadata: { adk_type: 'function_call' } }], { lastChunk: true }, 'c'),
        {
          statusUpdate: {
            taskId: 't',
            contextId: 'c',
            status: {
              state: 'TASK_STATE_COMPLETED',
              message: { messageId: 'n', role: 'ROLE_AGENT', parts: [{ text: 'Done.' }] },
            },
          },
        },
      ),
    );
    const events = await (await setUp(remote)).run('hi', 'sse');
    expect(textsOf(events)).toEqual(['~searching', '~one ', '~two', 'one two', '~lost', 'early', 'found', 'Done.']);
    expect(events[0]?.content?.parts?.[0]?.thought).toBe(true);
  });

  test('asks with the words of a server that has no calls, and answers with a message', async () => {
    const seen: unknown[] = [];
    const message = { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Which city?' }] };
    const remote = remoteOf(async (request) => {
      if (request.method === 'GET') return Response.json(CARD);
      seen.push(await request.json());
      return sse(
        seen.length === 1
          ? task('INPUT_REQUIRED', { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } })
          : task('COMPLETED'),
      );
    });
    const { run } = await setUp(remote);
    const asking = await run('weather');
    expect(asking[0]?.content?.parts?.[0]?.functionCall?.args).toMatchObject({ message: 'Which city?' });
    await run(answerTo(asking, { result: 'Bern' }));
    expect(seen[1]).toMatchObject({ params: { message: { taskId: 't', contextId: 'c', parts: [{ text: 'Bern' }] } } });
  });

  test('asks in words for the calls of a server that sends no text beside them', async () => {
    const call = (id: string, name: string, args: object) => ({
      data: { id, name, args },
      metadata: { adk_type: 'function_call', adk_is_long_running: true },
    });
    const parts = [call('1', 'adk_request_input', { message: 'Which city?' }), call('2', 'approve', {})];
    const message = { messageId: 'q', role: 'ROLE_AGENT', parts };
    const remote = answering(() =>
      sse(task('INPUT_REQUIRED', { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } })),
    );
    const { run } = await setUp(remote);
    const asking = await run('weather');
    expect(asking[0]?.content?.parts?.[0]?.functionCall?.args).toMatchObject({
      message: 'Which city?\nThe result of approve is needed.',
    });
  });

  test('starts a new task for a message that answers nothing', async () => {
    const bodies: Record<string, any>[] = []; // oxlint-disable-line typescript/no-explicit-any -- bodies of requests, which the assertions check
    const remote = remoteOf(async (request) => {
      if (request.method === 'GET') return Response.json(CARD);
      bodies.push((await request.json()) as object);
      return sse(task(bodies.length === 1 ? 'INPUT_REQUIRED' : 'COMPLETED'));
    });
    const { run } = await setUp(remote);
    await run('weather');
    await run('never mind');
    expect(bodies[1]?.['params'].message).toMatchObject({ contextId: 'c', parts: [{ text: 'never mind' }] });
    expect(bodies[1]?.['params'].message).not.toHaveProperty('taskId');
  });
});

const chunk = (text: string, more: object = {}, artifactId = 'a') => ({
  artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId, parts: [{ text }] }, ...more },
});
const completed = {
  statusUpdate: { taskId: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } },
};

/** Answers each method with its next response; the last one is repeated. */
function serving(answers: Record<string, (() => Response | Promise<Response>)[]>, options: object = {}) {
  const methods: string[] = [];
  const remote = remoteOf(async (request) => {
    if (request.method === 'GET') return Response.json(CARD);
    const { method } = (await request.json()) as { readonly method: string };
    methods.push(method);
    const [next, ...others] = answers[method] ?? [];
    if (!next) return Response.json({ jsonrpc: '2.0', id: 1, error: { code: -32004, message: 'no' } });
    if (others.length > 0) answers[method] = others;
    return next();
  }, options);
  return { remote, methods };
}

/** A stream that breaks after its items. */
function broken(...results: object[]): Response {
  const items = sse(...results).body?.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await items?.read();
      if (next?.value) controller.enqueue(next.value);
      else controller.error(new TypeError('terminated'));
    },
  });
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

describe('an answer whose connection is lost', () => {
  const whole = chunk('one two three', { lastChunk: true });

  test.each([
    ['breaks', broken],
    ['ends early', sse],
  ])('is continued by the id of its task, without repeated text, if the stream %s', async (_, cut) => {
    const { remote, methods } = serving({
      SendStreamingMessage: [() => cut(task('WORKING'), chunk('early', { lastChunk: true }, 'e'), chunk('one '))],
      SubscribeToTask: [
        () => cut(task('WORKING')),
        () =>
          sse(
            task('WORKING', { artifacts: [{ artifactId: 'e', parts: [{ text: 'early' }] }] }),
            chunk('early', { lastChunk: true }, 'e'),
            chunk('on'),
            chunk('e tw', { append: true }),
            chunk('o', { append: true }),
            chunk(' three', { append: true }),
            whole,
            completed,
          ),
      ],
    });
    const { run } = await setUp(remote, { platform: hurried() });
    expect(textsOf(await run('hi', 'sse'))).toEqual(['early', '~one ', '~tw', '~o', '~ three', 'one two three']);
    expect(methods).toEqual(['SendStreamingMessage', 'SubscribeToTask', 'SubscribeToTask']);
  });

  test('is read from the task if the task has ended meanwhile or has no stream', async () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'one two' }] }];
    const get = [
      () => Response.json({ jsonrpc: '2.0', id: 1, result: task('WORKING').task }),
      () => Response.json({ jsonrpc: '2.0', id: 1, result: task('COMPLETED', { artifacts }).task }),
    ];
    const { remote, methods } = serving({
      SendStreamingMessage: [() => sse(task('WORKING'), chunk('one '))],
      GetTask: get,
    });
    const { run } = await setUp(remote, { platform: hurried() });
    expect(textsOf(await run('hi', 'sse'))).toEqual(['~one ', 'one two']);
    expect(methods.slice(1)).toEqual(['SubscribeToTask', 'GetTask', 'SubscribeToTask', 'GetTask']);
  });

  test('is read from the task if the stream of the task is empty', async () => {
    const artifacts = [{ artifactId: 'a', parts: [{ text: 'one two' }] }];
    const { remote, methods } = serving({
      SendStreamingMessage: [() => sse(task('WORKING'), chunk('one '))],
      SubscribeToTask: [() => sse()],
      GetTask: [() => Response.json({ jsonrpc: '2.0', id: 1, result: task('COMPLETED', { artifacts }).task })],
    });
    const { run } = await setUp(remote, { platform: hurried() });
    expect(textsOf(await run('hi', 'sse'))).toEqual(['~one ', 'one two']);
    expect(methods.slice(1)).toEqual(['SubscribeToTask', 'GetTask']);
  });

  test('fails the run after five requests that failed, or when its task does not change', async () => {
    const away = serving({
      SendStreamingMessage: [() => sse(task('WORKING'))],
      SubscribeToTask: [() => Promise.reject(new TypeError('fetch failed'))],
    });
    await expect((await setUp(away.remote, { platform: hurried() })).run('hi')).rejects.toMatchObject({
      code: 'A2A_CONNECTION',
      message: expect.stringContaining('fetch failed'),
    });
    expect(away.methods.filter((method) => method === 'SubscribeToTask')).toHaveLength(5);
    const stuck = serving({
      SendStreamingMessage: [() => sse(task('WORKING'))],
      SubscribeToTask: [() => sse(task('WORKING'))],
    });
    await expect((await setUp(stuck.remote, { platform: hurried() })).run('hi')).rejects.toMatchObject({
      code: 'A2A_CONNECTION',
      message: expect.stringContaining('ended before the task did'),
    });
    expect(stuck.methods.length).toBeLessThan(30);
  });

  test('is awaited if the server answers before its task has ended', async () => {
    const bodies: string[] = [];
    const remote = remoteOf(async (request) => {
      if (request.method === 'GET') return Response.json({ ...CARD, capabilities: {} });
      const { method } = (await request.json()) as { readonly method: string };
      bodies.push(method);
      const artifacts = [{ artifactId: 'a', parts: [{ text: 'done' }] }];
      const result = bodies.length < 4 ? task('WORKING') : task('COMPLETED', { artifacts });
      return Response.json({ jsonrpc: '2.0', id: 1, result: method === 'GetTask' ? result.task : result });
    });
    const { run } = await setUp(remote, { platform: hurried() });
    expect(textsOf(await run('hi'))).toEqual(['done']);
    expect(bodies).toEqual(['SendMessage', 'GetTask', 'GetTask', 'GetTask']);
  });

  test('is read to the end by a run that is resumed in another process', async () => {
    const artifacts = [
      { artifactId: 'a', parts: [{ text: 'first' }] },
      { artifactId: 'b', parts: [{ text: 'second' }] },
    ];
    const { remote, methods } = serving({
      SendStreamingMessage: [
        () =>
          sse(
            task('WORKING'),
            chunk('first', { lastChunk: true }),
            chunk('second', { lastChunk: true }, 'b'),
            completed,
          ),
      ],
      SubscribeToTask: [() => sse(task('COMPLETED', { artifacts }))],
      CancelTask: [() => Response.json({ jsonrpc: '2.0', id: 1, result: task('WORKING').task })],
    });
    const sessionService = new InMemorySessionService();
    let commits = 0;
    // The process is killed after it has stored the first artifact.
    const dying = new Proxy(sessionService, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name);
        if (typeof found !== 'function') return found;
        return (...given: [{ readonly event?: Event }, { readonly event?: Event }]) => {
          const isCommit = name === 'appendEvent' || name === 'appendEvents' || (name === 'endRun' && given[1].event);
          if (isCommit && ++commits > 2) throw new Error('killed');
          return found.apply(target, given) as unknown;
        };
      },
    });
    const request = { userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'hi' }] } };
    const options = { appName: 'local', agent: remote, resumable: true, autoCreateSession: true };
    const first = new Runner({ ...options, sessionService: dying, platform: fixedPlatform() });
    await expect(first.run(request)).rejects.toThrow('killed');
    const stored = async () =>
      (await sessionService.getSession({ appName: 'local', userId: 'ann', sessionId: 's' }))?.events ?? [];
    const [{ invocationId } = { invocationId: '' }] = await stored();
    const texts = async (): Promise<string[]> => textsOf(await stored()).filter((text) => text !== '');
    expect(await texts()).toEqual(['hi', 'first']);
    await new Runner({ ...options, sessionService }).run({ userId: 'ann', sessionId: 's', invocationId });
    expect(await texts()).toEqual(['hi', 'first', 'second']);
    expect(methods.filter((method) => method !== 'CancelTask')).toEqual(['SendStreamingMessage', 'SubscribeToTask']);
  });
});

describe('an artifact that the server changes', () => {
  const asked = (artifacts: object[]): object => ({
    task: {
      id: 't',
      contextId: 'c',
      status: {
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Better?' }] },
      },
      artifacts,
    },
  });
  const draft = (...texts: string[]) => texts.map((text) => ({ artifactId: 'a', parts: [{ text }] }));

  test('is one more event for each change, in one stream', async () => {
    const { remote } = serving({
      SendStreamingMessage: [
        () =>
          sse(
            task('WORKING'),
            chunk('step 1', { lastChunk: true }),
            chunk('step ', {}),
            chunk('2', { append: true, lastChunk: true }),
            chunk('step 1', { lastChunk: true }),
            completed,
          ),
      ],
    });
    const { run } = await setUp(remote);
    expect(textsOf(await run('hi', 'sse'))).toEqual(['step 1', '~step ', '~2', 'step 2', 'step 1']);
  });

  test.each([false, true])('is one more event after the answer to a question (resumable: %s)', async (resumable) => {
    const { remote } = serving({
      SendStreamingMessage: [
        () => sse(task('WORKING'), chunk('draft 1', { lastChunk: true }), asked(draft('draft 1'))),
        // The task still has its old status and artifacts.
        () => sse(asked(draft('draft 1')), chunk('draft 2', { lastChunk: true }), asked(draft('draft 2'))),
        () => sse(asked(draft('draft 2')), chunk('draft 2', { lastChunk: true }), asked(draft('draft 2'))),
        () => sse(asked(draft('draft 2')), task('COMPLETED', { artifacts: draft('draft 3') })),
      ],
    });
    const { run } = await setUp(remote, { resumable });
    const texts: string[] = [];
    let asking: Event[] = [];
    for (const said of ['write', 'shorter', 'again', 'last']) {
      asking = await run(said === 'write' ? said : answerTo(asking, { result: said }));
      texts.push(...textsOf(asking).filter((text) => text.includes('draft')));
    }
    expect(texts).toEqual(['draft 1', 'draft 2', 'draft 2', 'draft 3']);
  });

  test('is not shown again when a further stream repeats its versions', async () => {
    const versions = [chunk('step 1', { lastChunk: true }), chunk('step 2', { lastChunk: true })];
    const { remote } = serving({
      SendStreamingMessage: [() => broken(task('WORKING'), ...versions)],
      SubscribeToTask: [
        () => broken(task('WORKING', { artifacts: draft('step 2') }), ...versions, chunk('st')),
        () => sse(task('WORKING'), ...versions, chunk('step 3', { lastChunk: true }), completed),
      ],
    });
    const { run } = await setUp(remote, { platform: hurried() });
    expect(textsOf(await run('hi', 'sse'))).toEqual(['step 1', 'step 2', 'step 3']);
  });

  test('has appended content in a separate event, and is stored as a whole', async () => {
    const { remote } = serving({
      SendStreamingMessage: [
        () => sse(task('WORKING'), chunk('one', { lastChunk: true }), asked(draft('one'))),
        () => sse(asked(draft('one')), chunk(' two', { append: true, lastChunk: true }), asked(draft('one two'))),
        () => sse(asked(draft('one two')), chunk(' three', { append: true }), completed),
      ],
    });
    const { run } = await setUp(remote);
    const texts: string[] = [];
    let asking: Event[] = [];
    for (const said of ['count', 'on', 'on']) {
      asking = await run(texts.length === 0 ? said : answerTo(asking, { result: said }), 'sse');
      texts.push(...textsOf(asking).filter((text) => text !== ''));
    }
    expect(texts).toEqual(['one', '~ two', ' two', '~ three', ' three']);
  });

  test('has all of its parts in the task of an intermediate server', async () => {
    const { remote } = serving({
      SendStreamingMessage: [
        () => sse(task('WORKING'), chunk('one', { lastChunk: true }), asked(draft('one'))),
        () => sse(task('WORKING'), chunk(' two', { append: true }), chunk(' three', { append: true }), completed),
      ],
    });
    const middle = serveAgent(remote);
    const { run } = await setUp(remoteTo(middle.server));
    const asking = await run('count');
    const answered = await run(answerTo(asking, { result: 'on' }));
    expect([...textsOf(asking), ...textsOf(answered)].filter((text) => text !== '')).toEqual(['one', ' two three']);
    const params = { id: answered[0]?.customMetadata?.['a2a:task_id'] };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params });
    const response = await middle.server.fetch(new Request(ADDRESS, { method: 'POST', body }));
    expect(JSON.stringify(await response.json())).toContain('[{"text":"one"},{"text":" two three"}]');
  });

  test('counts with each of its versions for maxResponseBytes', async () => {
    const versions = Array.from({ length: 30 }, (_, n) => chunk(`${n} ${'x'.repeat(1000)}`, { lastChunk: true }));
    const { remote } = serving(
      {
        SendStreamingMessage: [() => sse(task('WORKING'), ...versions.slice(0, 10))],
        SubscribeToTask: [
          () => sse(task('WORKING'), ...versions.slice(10, 20)),
          () => sse(task('WORKING'), ...versions.slice(20), completed),
        ],
      },
      { maxResponseBytes: 20_000 },
    );
    const { run } = await setUp(remote, { platform: hurried() });
    await expect(run('hi')).rejects.toMatchObject({ code: 'A2A_LIMIT' });
  });
});

test('a question that a server repeats is asked again', async () => {
  const message = { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Which city?' }] };
  const remote = answering(() =>
    sse(task('INPUT_REQUIRED', { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } })),
  );
  const { run } = await setUp(remote);
  let asking = await run('weather');
  for (const answer of ['Nowhere', 'Atlantis', 'Bern']) {
    const before = asking;
    asking = await run(answerTo(before, { result: answer }));
    expect(asking[0]?.content?.parts?.[0]?.functionCall?.args).toMatchObject({ message: 'Which city?' });
    expect(asking[0]?.content?.parts?.[0]?.functionCall?.id).not.toBe(before[0]?.content?.parts?.[0]?.functionCall?.id);
  }
});

test('a task that waits is not cancelled because its server cannot be reached for the answer', async () => {
  const message = { messageId: 'q', role: 'ROLE_AGENT', parts: [{ text: 'Which city?' }] };
  const { remote, methods } = serving({
    SendStreamingMessage: [
      () => sse(task('INPUT_REQUIRED', { status: { state: 'TASK_STATE_INPUT_REQUIRED', message } })),
      () => new Response('', { status: 503 }),
    ],
  });
  const { run } = await setUp(remote);
  const asking = await run('weather');
  await expect(run(answerTo(asking, { result: 'Bern' }))).rejects.toMatchObject({ code: 'A2A_CONNECTION' });
  expect(methods).toEqual(['SendStreamingMessage', 'SendStreamingMessage']);
});

describe('a run fails with a code that names the agent and the address if the server', () => {
  const html = () => new Response('<html>', { headers: { 'content-type': 'text/html' } });
  const nested = '['.repeat(300) + ']'.repeat(300);
  const endless = () =>
    new Response(
      new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024).fill(58)),
      }),
      {
        headers: { 'content-type': 'text/event-stream' },
      },
    );
  test.each<[string, () => RemoteA2AAgent, string, RegExp]>([
    [
      'cannot be reached',
      () => remoteOf(() => Promise.reject(new TypeError('fetch failed'))),
      'A2A_CONNECTION',
      /the request failed: fetch failed/,
    ],
    [
      'has no card',
      () => remoteOf(() => new Response('', { status: 404 })),
      'A2A_PROTOCOL',
      /agent-card.json: the server answered with the status 404/,
    ],
    ['is overloaded', () => answering(() => new Response('', { status: 503 })), 'A2A_CONNECTION', /the status 503/],
    [
      'refuses the login',
      () => answering(() => new Response('', { status: 401 })),
      'A2A_CONNECTION',
      /write the credential that it requires in headers/,
    ],
    [
      'has a page in place of a card',
      () => remoteOf(html),
      'A2A_PROTOCOL',
      /expected application\/json, got text\/html/,
    ],
    [
      'has another JSON in place of a card',
      () => remoteOf(() => Response.json([1])),
      'A2A_PROTOCOL',
      /expected an agent card/,
    ],
    [
      'has a card without JSON-RPC',
      () =>
        remoteOf(() =>
          Response.json({
            name: 'a',
            supportedInterfaces: [{ url: ADDRESS, protocolBinding: 'GRPC', protocolVersion: '1.0' }],
          }),
        ),
      'A2A_PROTOCOL',
      /no address for JSON-RPC/,
    ],
    [
      'names an address of another host',
      () =>
        remoteOf(() =>
          Response.json({
            ...CARD,
            supportedInterfaces: [{ ...CARD.supportedInterfaces[0], url: 'http://evil.example/' }],
          }),
        ),
      'A2A_PROTOCOL',
      /another origin/,
    ],
    [
      'redirects',
      () => answering(() => new Response('', { status: 307, headers: { location: 'http://evil.example/' } })),
      'A2A_PROTOCOL',
      /redirects to http:\/\/evil.example\//,
    ],
    [
      'answers with a page',
      () => answering(html),
      'A2A_PROTOCOL',
      /expected application\/json or text\/event-stream, got text\/html/,
    ],
    [
      'streams no JSON',
      () => answering(() => new Response('data: hello\n\n', { headers: { 'content-type': 'text/event-stream' } })),
      'A2A_PROTOCOL',
      /not JSON/,
    ],
    [
      'streams deep JSON',
      () => answering(() => new Response(`data: ${nested}\n\n`, { headers: { 'content-type': 'text/event-stream' } })),
      'A2A_PROTOCOL',
      /nested deeper/,
    ],
    [
      'answers with JSON of another kind',
      () => answering(() => Response.json('hello')),
      'A2A_PROTOCOL',
      /the server sent JSON that is not a JSON-RPC response/,
    ],
    [
      'streams no update',
      () => answering(() => sse({ what: 1 })),
      'A2A_PROTOCOL',
      /result: expected a task, a message/,
    ],
    [
      'has a task without a state',
      () => answering(() => sse({ task: { id: 't', contextId: 'c', status: {} } })),
      'A2A_PROTOCOL',
      /result.task.status.state/,
    ],
    [
      'refuses the request with a reason that is not text',
      () => answering(() => Response.json({ jsonrpc: '2.0', id: 1, error: { code: 'x', message: { why: 'no' } } })),
      'A2A_PROTOCOL',
      /refused the request: \{"why":"no"\} \("x"\)/,
    ],
    [
      'refuses the request without a reason',
      () => answering(() => Response.json({ jsonrpc: '2.0', id: 1, error: { code: -32000 } })),
      'A2A_PROTOCOL',
      /refused the request: "no reason given" \(-32000\)/,
    ],
    [
      'refuses the request',
      () => answering(() => Response.json({ jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'no' } })),
      'A2A_PROTOCOL',
      /refused the request: no \(-32602\)/,
    ],
    ['streams without end', () => answering(endless), 'A2A_LIMIT', /more than 8388608 bytes/],
    [
      'sends 10 MB',
      () => answering(() => Response.json({ result: 'x'.repeat(10_000_000) })),
      'A2A_LIMIT',
      /more than 8388608 bytes/,
    ],
    ['stops before it began', () => answering(() => sse()), 'A2A_CONNECTION', /ended before the task did/],
    [
      'sends an item of another task',
      () =>
        answering(() =>
          sse(task('WORKING'), { ...chunk('x'), artifactUpdate: { ...chunk('x').artifactUpdate, taskId: 'u' } }),
        ),
      'A2A_PROTOCOL',
      /the reply of the task t has an item of another task/,
    ],
    [
      'sends an item of another context',
      () => answering(() => sse(task('WORKING'), { statusUpdate: { ...completed.statusUpdate, contextId: 'd' } })),
      'A2A_PROTOCOL',
      /of another task or context/,
    ],
    [
      'sends an id without measure',
      () => answering(() => sse(task('WORKING', { contextId: 'c'.repeat(2000) }))),
      'A2A_PROTOCOL',
      /contextId: is longer than 1024 characters/,
    ],
    [
      'says why it is overloaded',
      () => answering(() => Response.json({ error: 'the user has 100 runs', code: 'USER_LIMIT' }, { status: 429 })),
      'A2A_CONNECTION',
      /the status 429: the user has 100 runs/,
    ],
    [
      'refuses the request with a status',
      () =>
        answering(() =>
          Response.json({ jsonrpc: '2.0', error: { code: -32602, message: 'no parts' } }, { status: 400 }),
        ),
      'A2A_PROTOCOL',
      /the status 400: no parts/,
    ],
    [
      'refuses with a page without end',
      () =>
        answering(() => {
          const headers = { 'content-type': 'application/json' };
          return new Response(endless().body, { status: 400, headers });
        }),
      'A2A_PROTOCOL',
      /the server answered with the status 400$/,
    ],
    [
      'fails its task',
      () =>
        answering(() =>
          sse(
            task('FAILED', {
              status: {
                state: 'TASK_STATE_FAILED',
                message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'no money' }] },
              },
            }),
          ),
        ),
      'A2A_TASK',
      /the task t failed: no money/,
    ],
    ['rejects its task', () => answering(() => sse(task('REJECTED'))), 'A2A_TASK', /was rejected: it gave no reason/],
    [
      'requires a credential',
      () => answering(() => sse(task('AUTH_REQUIRED'))),
      'A2A_TASK',
      /requires a credential; pass it to the server in headers/,
    ],
    [
      'requires a credential and says which',
      () =>
        answering(() =>
          sse(
            task('AUTH_REQUIRED', {
              status: {
                state: 'TASK_STATE_AUTH_REQUIRED',
                message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'log in' }] },
              },
            }),
          ),
        ),
      'A2A_TASK',
      /the task t requires a credential: log in; pass it to the server in headers/,
    ],
    [
      'sends a part of A2A 0.3 that does not exist',
      () => answering(() => sse({ message: { messageId: 'm', role: 'agent', parts: [{ kind: 'what' }] } })),
      'A2A_PROTOCOL',
      /parts\[0\]: expected a part of the kind "text" with text, "file" with file or "data" with data, as in A2A 0.3/,
    ],
    [
      'sends an item of A2A 0.3 that does not exist',
      () => answering(() => sse({ kind: 'what' })),
      'A2A_PROTOCOL',
      /result: expected an object of the kind "task", "message", "status-update" or "artifact-update", got/,
    ],
    [
      'sends bytes that are not base64',
      () => answering(() => sse({ message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ raw: '%' }] } })),
      'A2A_PROTOCOL',
      /base64/,
    ],
  ])('%s', async (_, remote, code, message) => {
    const { run } = await setUp(remote());
    const failure = await run('hi').catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, message: expect.stringMatching(message) });
    expect((failure as Error).message).toContain('"remote"');
    expect((failure as Error).message).toContain('http://localhost/a2a/app');
  });

  test('sends nothing for too long', async () => {
    const platform = fixedPlatform();
    const sent = Promise.withResolvers<void>();
    const remote = remoteOf(
      () => {
        sent.resolve();
        return new Promise<Response>(() => undefined);
      },
      { timeoutMs: 5000 },
    );
    const { run } = await setUp(remote, { platform });
    const running = run('hi');
    await sent.promise;
    platform.advance(5000);
    await expect(running).rejects.toMatchObject({
      code: 'A2A_CONNECTION',
      message: expect.stringContaining('sent nothing for 5 s'),
    });
  });
});

test.each([
  [{ agentCard: undefined }, /agentCard: expected an address with http or https/],
  [{ agentCard: 'ftp://x.example' }, /agentCard: expected an address with http or https/],
  [{ agentCard: { name: 'a' } }, /agentCard: the card has no address for JSON-RPC/],
  [{ url: ADDRESS }, /has no option "url"; write agentCard: 'https:/],
  [{ agentCard: ADDRESS, timeout: 5 }, /has no option "timeout"/],
  [{ agentCard: ADDRESS, timeoutMs: 0 }, /timeoutMs/],
])('a remote agent is refused for the invalid options %#, and the error says what to write', (options, advice) => {
  expect(() => new RemoteA2AAgent({ name: 'remote', ...options } as never)).toThrow(advice);
});
