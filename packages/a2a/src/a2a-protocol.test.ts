import { BaseAgent, createEvent, type Event, type InvocationContext, REQUEST_CREDENTIAL } from '@eventloom/core';
import { createServer } from '@eventloom/server';
import { fixedPlatform, Gate, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { payingAgent, PAY, serveAgent } from './fixtures/served-agent.ts';
import { a2a } from './index.ts';

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON of answers, which the assertions check

function setUp(steps: readonly ScriptedStep[], ...options: unknown[]) {
  const { server, sessionService } = serveAgent(payingAgent(steps), ...(options as []));
  const post = async (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/a2a/app', {
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    );
  const call = async (method: string, params: unknown, headers?: Record<string, string>): Promise<Json> =>
    (await (await post({ jsonrpc: '2.0', id: 1, method, params }, headers)).json()) as Json;
  const stream = async (method: string, params: unknown): Promise<Json[]> =>
    readEvents(await post({ jsonrpc: '2.0', id: 1, method, params }));
  return { server, sessionService, post, call, stream };
}

async function readEvents(response: Response): Promise<Json[]> {
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: '));
  return frames.map((frame) => (JSON.parse(frame.slice('data: '.length)) as Json)['result'] as Json);
}

let messages = 0;
const say = (text: string, more: object = {}): object => ({
  message: { messageId: `m-${++messages}`, role: 'ROLE_USER', parts: [{ text }], ...more },
});
const sayLegacy = (text: string): object => ({
  message: { kind: 'message', messageId: `m-${++messages}`, role: 'user', parts: [{ kind: 'text', text }] },
});

/** An agent whose events have no `responseId`. */
class Talker extends BaseAgent {
  protected async *runAsyncImpl({ invocationId }: InvocationContext): AsyncGenerator<Event, void, void> {
    for (const chunks of [['one ', 'two'], ['three']]) {
      const event = (text: string, partial = false): Event =>
        createEvent({ invocationId, author: this.name, partial, content: { role: 'model', parts: [{ text }] } });
      for (const chunk of chunks) yield event(chunk, true);
      yield event(chunks.join(''));
    }
  }
}

const CHUNKS: ScriptedStep = { chunks: ['one ', 'two'] };

describe('the agent card', () => {
  test('names the endpoint, its capabilities and its skills, for clients of 1.0 and of 0.3', async () => {
    const { server } = setUp([]);
    const get = async (path: string, headers = {}): Promise<Json> =>
      (await (await server.fetch(new Request(`http://localhost${path}`, { headers }))).json()) as Json;
    const card = await get('/.well-known/agent-card.json', { 'a2a-version': '1.0' });
    expect(card).toMatchObject({
      name: 'clerk',
      description: 'Pays invoices.',
      supportedInterfaces: [
        { url: 'http://localhost/a2a/app', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: 'http://localhost/a2a/app', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
      ],
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: 'clerk', tags: ['agent'] }],
    });
    expect(card).not.toHaveProperty('url');
    const either = {
      ...card,
      url: 'http://localhost/a2a/app',
      preferredTransport: 'JSONRPC',
      protocolVersion: '0.3.0',
    };
    expect(await get('/a2a/app/.well-known/agent-card.json')).toEqual(either);
    expect(await get('/a2a/other/.well-known/agent-card.json')).toMatchObject({ code: 'APP_NOT_FOUND' });
  });

  test('says how to log in, for clients of either version', async () => {
    const securitySchemes = {
      bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } },
      login: { oauth2SecurityScheme: { flows: {} } },
    };
    const securityRequirements = [{ schemes: { bearer: { list: [] } } }, { schemes: { login: { list: ['read'] } } }];
    const card = { securitySchemes, securityRequirements };
    const server = createServer({ runners: [], protocols: [a2a({ agents: { app: payingAgent([]) }, card })] });
    const get = async (headers = {}): Promise<Json> =>
      (await (
        await server.fetch(new Request('http://localhost/.well-known/agent-card.json', { headers }))
      ).json()) as Json;
    expect(await get({ 'a2a-version': '1.0' })).toMatchObject(card);
    expect(await get()).toMatchObject({
      ...card,
      securitySchemes: {
        bearer: { ...securitySchemes.bearer, type: 'http', scheme: 'Bearer' },
        key: { ...securitySchemes.key, type: 'apiKey', in: 'header', name: 'x-key' },
        login: { ...securitySchemes.login, type: 'oauth2', flows: {} },
      },
      security: [{ bearer: [] }, { login: ['read'] }],
    });
  });

  test('is public, has the address of a proxy, and takes fields of the application', async () => {
    const agent = payingAgent([]);
    const card = { version: '2.1.0', documentationUrl: 'https://docs.example.com' };
    const server = createServer({
      runners: [],
      protocols: [a2a({ agents: { app: agent }, url: 'https://agents.example.com/api/', card })],
      authenticate: () => undefined,
    });
    const response = await server.fetch(new Request('https://inner/.well-known/agent-card.json'));
    expect(await response.json()).toMatchObject({ ...card, url: 'https://agents.example.com/api/a2a/app' });
  });

  test.each([
    [{}, /agents: expected agents by the name/],
    [payingAgent([]), /a2a: got an agent; write a2a\(\{ agents: \{ weather: agent \} \}\)/],
    [{ agents: { app: {} } }, /agents.app: expected an agent/],
    [{ agents: { app: payingAgent([]) }, url: 'here' }, /url: expected an address, got "here"; write/],
    [{ agents: { app: payingAgent([]) }, urls: '' }, /has no option "urls"/],
    [
      { agents: { app: payingAgent([]) }, card: { versoin: '2' } },
      /a2a: card: has no option "versoin"; did you mean "version"/,
    ],
    [{ agents: { app: payingAgent([]) }, card: { skills: 'all' } }, /a2a: card: skills: expected a list, got a string/],
  ])('is refused for the invalid options %#, and the error says what to write', (options, advice) => {
    expect(() => a2a(options as never)).toThrow(advice);
  });
});

describe('a message', () => {
  test('is answered with a task that has the reply as its artifact', async () => {
    const { call, sessionService } = setUp([{ text: 'Hello.' }]);
    const { result } = await call('SendMessage', say('hi', { contextId: 'c1' }));
    expect(result.task).toMatchObject({
      contextId: 'c1',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ parts: [{ text: 'Hello.' }], metadata: { adk_author: 'clerk', adk_session_id: 'c1' } }],
      history: [{ role: 'ROLE_USER', parts: [{ text: 'hi' }], taskId: result.task.id }],
    });
    expect(await call('GetTask', { id: result.task.id })).toMatchObject({ result: result.task });
    expect(await call('GetTask', { id: result.task.id, historyLength: 0 })).not.toHaveProperty('result.history');
    const session = { appName: 'app', userId: 'A2A_USER_c1', sessionId: 'c1' };
    expect((await sessionService.getSession(session))?.events.length).toBeGreaterThan(1);
  });

  test('is answered with the same content in the format of 0.3', async () => {
    const { call } = setUp([{ text: 'Hello.' }]);
    const { result } = await call('message/send', sayLegacy('hi'));
    expect(result).toMatchObject({
      kind: 'task',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'Hello.' }] }],
      history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
    });
    expect((await call('tasks/get', { id: result.id })).result).toEqual(result);
  });

  test('streams the chunks of an artifact, which the whole reply replaces', async () => {
    const { stream } = setUp([CHUNKS, CHUNKS]);
    const items = await stream('SendStreamingMessage', say('hi'));
    expect(
      items.map((item) => item['task']?.status.state ?? item['statusUpdate']?.status.state ?? item['artifactUpdate']),
    ).toMatchObject([
      'TASK_STATE_SUBMITTED',
      'TASK_STATE_WORKING',
      { artifact: { parts: [{ text: 'one ' }] }, metadata: { adk_partial: true } },
      { artifact: { parts: [{ text: 'two' }] }, append: true },
      { artifact: { parts: [{ text: 'one two' }] }, lastChunk: true },
      'TASK_STATE_COMPLETED',
    ]);
    expect(new Set(items.flatMap((item) => item['artifactUpdate']?.artifact.artifactId ?? [])).size).toBe(1);
    const legacy = await stream('message/stream', sayLegacy('hi'));
    expect(legacy.map(({ kind, final }) => (final === undefined ? kind : [kind, final]))).toEqual([
      'task',
      ['status-update', false],
      'artifact-update',
      'artifact-update',
      'artifact-update',
      ['status-update', true],
    ]);
  });

  test('streams each call of a tool once, as a whole', async () => {
    const { stream } = setUp([PAY, { text: 'Wait.' }]);
    const items = await stream('SendStreamingMessage', say('pay'));
    const calls = items.flatMap(({ artifactUpdate }): Json[] => (artifactUpdate ? [artifactUpdate] : []));
    const names = calls.map(({ artifact, lastChunk }) => [artifact.parts[0].metadata?.adk_type, lastChunk]);
    expect(names).toEqual([
      ['function_call', true],
      ['function_response', true],
    ]);
  });

  test('of a custom agent without responseId streams the artifacts that the task has afterwards', async () => {
    const agent = new Talker({ name: 'talker' });
    const { server } = serveAgent(agent);
    const ask = (method: string, params: unknown): Promise<Response> =>
      Promise.resolve(
        server.fetch(
          new Request('http://localhost/a2a/app', {
            method: 'POST',
            body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
          }),
        ),
      );
    const items = await readEvents(await ask('SendStreamingMessage', say('hi')));
    const updates = items.flatMap(({ artifactUpdate }): Json[] => (artifactUpdate ? [artifactUpdate] : []));
    expect(updates.map(({ append, lastChunk, artifact }) => [append, lastChunk, artifact.parts[0].text])).toEqual([
      [undefined, undefined, 'one '],
      [true, undefined, 'two'],
      [undefined, true, 'one two'],
      [undefined, undefined, 'three'],
      [undefined, true, 'three'],
    ]);
    const task = ((await (await ask('GetTask', { id: items[0]?.['task'].id })).json()) as Json)['result'] as Json;
    const streamed = new Set(updates.map(({ artifact }) => artifact.artifactId));
    expect([...streamed]).toEqual(task['artifacts'].map(({ artifactId }: Json) => artifactId));
    expect(streamed.size).toBe(2);
  });

  test('continues its context, and runs once however often it is sent', async () => {
    const { call } = setUp([{ text: 'First.' }, { text: 'Second.' }]);
    const first = say('hi');
    const { task } = (await call('SendMessage', first)).result;
    expect((await call('SendMessage', first)).result.task).toMatchObject({ id: task.id, artifacts: task.artifacts });
    const second = (await call('SendMessage', say('and?', { contextId: task.contextId }))).result.task;
    expect(second).toMatchObject({ contextId: task.contextId, artifacts: [{ parts: [{ text: 'Second.' }] }] });
    expect(second.id).not.toBe(task.id);
  });

  test('carries files and data, which have the types of the ADK', async () => {
    const seen: unknown[] = [];
    const { call } = setUp([
      ({ contents }) => {
        seen.push(...(contents.at(-1)?.parts ?? []));
        return {
          parts: [
            { inlineData: { mimeType: 'image/png', data: 'AAAA' } },
            { fileData: { fileUri: 'https://x.example/a', mimeType: 'text/csv' } },
          ],
        };
      },
    ]);
    const parts = [
      { raw: 'AQID', mediaType: 'image/png', filename: 'a.png' },
      { url: 'https://x.example/b.pdf', mediaType: 'application/pdf' },
      { data: { city: 'Bern' } },
    ];
    const { result } = await call('SendMessage', say('', { parts }));
    expect(seen).toEqual([
      { inlineData: { mimeType: 'image/png', data: 'AQID', displayName: 'a.png' } },
      { fileData: { mimeType: 'application/pdf', fileUri: 'https://x.example/b.pdf' } },
      { text: '{"city":"Bern"}' },
    ]);
    expect(result.task.artifacts[0].parts).toEqual([
      { raw: 'AAAA', mediaType: 'image/png' },
      { url: 'https://x.example/a', mediaType: 'text/csv' },
    ]);
  });

  test('with returnImmediately is answered immediately, and its task can be read and followed', async () => {
    const gate = new Gate();
    const { call, post } = setUp([{ gate, text: 'late' }], { limits: { respondAfterMs: 0 } });
    const { task } = (await call('SendMessage', { ...say('hi'), configuration: { returnImmediately: true } })).result;
    expect(task.status.state).toBe('TASK_STATE_WORKING');
    await gate.reached;
    expect((await call('GetTask', { id: task.id })).result.status.state).toBe('TASK_STATE_WORKING');
    const following = await post({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: task.id } });
    gate.open();
    const states = (await readEvents(following)).map(
      (item) => item['task']?.status.state ?? item['statusUpdate']?.status.state ?? 'artifact',
    );
    expect(states).toEqual(['TASK_STATE_WORKING', 'artifact', 'TASK_STATE_COMPLETED']);
    expect((await call('SubscribeToTask', { id: task.id })).error.code).toBe(-32004);
  });

  test('whose run fails has a failed task with the code of the error and without its message', async () => {
    const { call, stream } = setUp([new Error('secret address'), new Error('secret address')]);
    const { result } = await call('SendMessage', say('hi'));
    expect(result.task).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { adk_error_code: 'MODEL_ERROR' },
    });
    expect(JSON.stringify(result)).not.toContain('secret address');
    expect((await call('GetTask', { id: result.task.id })).result.status).toEqual(result.task.status);
    const last = (await stream('SendStreamingMessage', say('hi'))).at(-1);
    expect(last?.['statusUpdate']).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { adk_error_code: 'MODEL_ERROR' },
    });
  });

  test('is cancelled with its task, and its stream ends', async () => {
    const gate = new Gate();
    const { call, post } = setUp([{ gate, text: 'late' }]);
    const streaming = await post({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendStreamingMessage',
      params: say('hi', { contextId: 'c' }),
    });
    const reader = streaming.body?.pipeThrough(new TextDecoderStream()).getReader();
    const first = JSON.parse((await reader?.read())?.value?.slice(6) ?? '') as Json;
    const { id } = first['result'].task;
    await gate.reached;
    expect((await call('CancelTask', { id })).result.status.state).toBe('TASK_STATE_CANCELED');
    let rest = '';
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) rest += next.value;
    expect(rest).toContain('TASK_STATE_CANCELED');
    expect((await call('CancelTask', { id })).error.code).toBe(-32002);
  });
});

describe('a stream', () => {
  const silent = (limits: object) => {
    const gate = new Gate();
    const platform = fixedPlatform();
    return { gate, platform, ...setUp([{ gate, text: 'late' }], { limits, platform }) };
  };
  const begin = async ({ call, gate }: ReturnType<typeof silent>, more: object = {}): Promise<string> => {
    const params = { ...say('hi', more), configuration: { returnImmediately: true } };
    const { task } = (await call('SendMessage', params)).result;
    await gate.reached;
    return task.id as string;
  };
  const subscribe = (id: string): object => ({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } });

  test('has heartbeats while its run is silent', async () => {
    const served = silent({ heartbeatMs: 5000, respondAfterMs: 0 });
    const following = await served.post(subscribe(await begin(served)));
    const reader = following.body?.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader?.read())?.value).toContain('TASK_STATE_WORKING');
    let beat: string | undefined;
    void reader?.read().then(({ value }) => (beat = value));
    await expect.poll(() => served.platform.advance(5000) === undefined && beat).toBe(': heartbeat\n\n');
    served.gate.open();
    let rest = '';
    for (let next = await reader?.read(); next && !next.done; next = await reader?.read()) rest += next.value;
    expect(rest).toMatch(/"late".*TASK_STATE_COMPLETED/s);
  });

  test('is no longer counted for its user after the client disconnected from a silent run', async () => {
    const served = silent({ maxReadersPerUser: 1, respondAfterMs: 0 });
    const id = await begin(served);
    for (const _ of [1, 2, 3]) {
      const following = await served.post(subscribe(id));
      expect(following.status).toBe(200);
      const reader = following.body?.getReader();
      await reader?.read();
      const timers = served.platform.pendingTimers;
      const waiting = reader?.read();
      // One more timer, that of the heartbeats, shows that the stream is being read.
      await expect.poll(() => served.platform.pendingTimers).toBe(timers + 1);
      void reader?.cancel();
      await expect.poll(() => served.platform.pendingTimers).toBe(timers);
      await waiting;
    }
    served.gate.open();
  });
});

describe.each([false, true])('a task that requires input, resumable: %s', (isResumable) => {
  const resumable = [{}, isResumable ? { resumable: true } : {}];

  test('is cancelled, and takes no answer any more', async () => {
    const { call } = setUp([PAY], ...resumable);
    const { task } = (await call('SendMessage', say('pay'))).result;
    const asked = task.status.message.parts[1].data;
    const cancelled = (await call('CancelTask', { id: task.id })).result;
    expect(cancelled.status.state).toBe('TASK_STATE_CANCELED');
    expect((await call('GetTask', { id: task.id })).result.status).toEqual(cancelled.status);
    const data = { id: asked.id, name: asked.name, response: { confirmed: true } };
    const parts = [{ data, metadata: { adk_type: 'function_response' } }];
    const answer = { taskId: task.id, contextId: task.contextId, parts };
    expect((await call('SendMessage', say('', answer))).error.message).toContain('the task has ended');
    expect((await call('CancelTask', { id: task.id })).error.code).toBe(-32002);
  });

  test('asks in words and as a call, and continues with the response to it', async () => {
    const { call } = setUp([PAY, { text: 'Paid.' }], ...resumable);
    const { task } = (await call('SendMessage', say('pay'))).result;
    expect(task.status).toMatchObject({
      state: 'TASK_STATE_INPUT_REQUIRED',
      message: {
        role: 'ROLE_AGENT',
        parts: [
          { text: expect.stringContaining('pay') },
          {
            data: { name: 'adk_request_confirmation' },
            metadata: { adk_type: 'function_call', adk_is_long_running: true },
          },
        ],
      },
    });
    const asked = task.status.message.parts[1].data;
    expect((await call('GetTask', { id: task.id })).result.status).toEqual(task.status);
    const data = { id: asked.id, name: asked.name, response: { confirmed: true } };
    const parts = [{ data, metadata: { adk_type: 'function_response' } }];
    const answer = say('', { parts, taskId: task.id, contextId: task.contextId });
    const done = (await call('SendMessage', answer)).result.task;
    expect(done).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } });
    expect(done.artifacts.at(-1).parts).toEqual([{ text: 'Paid.' }]);
    expect(JSON.stringify(done.artifacts)).toContain('{"paid":3}');
    expect((await call('GetTask', { id: task.id })).result).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: done.artifacts,
    });
    // The answer is sent again: nothing is paid twice.
    expect((await call('SendMessage', answer)).result.task).toMatchObject({
      id: task.id,
      status: { state: 'TASK_STATE_COMPLETED' },
    });
  });

  test('accepts yes and no as text, and asks again after another word', async () => {
    const { call, stream } = setUp([PAY, { text: 'Not paid.' }], ...resumable);
    const { task } = (await call('SendMessage', say('pay'))).result;
    const again = (await call('SendMessage', say('perhaps', { taskId: task.id }))).result.task;
    expect(again.status).toEqual(task.status);
    const items = await stream('SendStreamingMessage', say('No.', { taskId: task.id }));
    expect(JSON.stringify(items)).not.toContain('"paid"');
    expect(items.at(-1)?.['statusUpdate'].status.state).toBe('TASK_STATE_COMPLETED');
    const ended = await call('SendMessage', say('yes', { taskId: task.id }));
    expect(ended.error).toMatchObject({ code: -32004, data: [{ reason: 'UNSUPPORTED_OPERATION' }] });
    const elsewhere = await call('SendMessage', say('yes', { taskId: task.id, contextId: 'other' }));
    expect(elsewhere.error.code).toBeLessThan(-32000);
  });
});

test('a task that requires a credential has the state TASK_STATE_AUTH_REQUIRED', async () => {
  class Locked extends BaseAgent {
    protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
      const functionCall = { id: 'c-1', name: REQUEST_CREDENTIAL, args: {} };
      yield context.createEvent({ content: { role: 'model', parts: [{ functionCall }] }, longRunningToolIds: ['c-1'] });
    }
  }
  const { server } = serveAgent(new Locked({ name: 'locked' }));
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi') });
  const response = await server.fetch(new Request('http://localhost/a2a/app', { method: 'POST', body }));
  const { result } = (await response.json()) as Json;
  expect(result.task.status).toMatchObject({
    state: 'TASK_STATE_AUTH_REQUIRED',
    message: { parts: [{ text: 'A credential is needed.' }, { data: { id: 'c-1' } }] },
  });
});

test('a task is read up to the end of its last run, whatever follows in the session', async () => {
  const { call, sessionService } = setUp([PAY, { text: 'Paid.' }]);
  const { task } = (await call('SendMessage', say('pay', { contextId: 'c' }))).result;
  const read: number[] = [];
  const fill = async (): Promise<void> => {
    const session = await sessionService.getSession({ appName: 'app', userId: 'A2A_USER_c', sessionId: 'c' });
    if (!session) throw new Error('expected a session');
    for (let index = 0; index < 600; index++)
      await sessionService.appendEvent({ session, event: createEvent({ author: 'other', invocationId: 'e-other' }) });
  };
  await fill();
  const done = (await call('SendMessage', say('yes', { taskId: task.id }))).result.task;
  expect(done.status.state).toBe('TASK_STATE_COMPLETED');
  await fill();
  await fill();
  const getSession = sessionService.getSession.bind(sessionService);
  sessionService.getSession = (request) => {
    read.push(request.config?.afterSeq ?? 0);
    return getSession(request);
  };
  expect((await call('GetTask', { id: task.id })).result).toMatchObject({
    status: done.status,
    artifacts: done.artifacts,
  });
  // The run ends on the second page. The third one, of those that follow, begins after 1,100 events.
  expect(Math.max(...read)).toBeLessThan(1100);
});

describe('a list of tasks', () => {
  const ann = { authorization: 'ann' };
  const authenticate = ({ headers }: Request) => ({ userId: headers.get('authorization') ?? 'nobody' });

  /** Five tasks of Ann in three contexts, each one second later than the one before, and one of Bob. */
  async function fill() {
    const platform = fixedPlatform({ now: 1_000_000 });
    const steps = [{ text: 'a' }, { text: 'b' }, PAY, { text: 'd' }, new Error('no'), { text: 'of Bob' }];
    const { call, sessionService } = setUp(steps, { authenticate }, { platform });
    const ids: string[] = [];
    for (const contextId of ['x', 'y', 'x', 'z', 'y']) {
      const { result } = await call('SendMessage', say('hi', { contextId }), ann);
      ids.push(result.task.id);
      platform.advance(1000);
    }
    await call('SendMessage', say('hi', { contextId: 'x' }), { authorization: 'bob' });
    const list = async (params: object = {}): Promise<Json> => (await call('ListTasks', params, ann)).result;
    const indexes = ({ tasks }: Json): number[] => tasks.map(({ id }: Json) => ids.indexOf(id));
    return { call, list, indexes, ids, sessionService };
  }

  test('has the tasks of the user, the latest first, without artifacts', async () => {
    const { list, indexes, call, ids } = await fill();
    const all = await list();
    expect(indexes(all)).toEqual([4, 3, 2, 1, 0]);
    expect(all).toMatchObject({ nextPageToken: '', pageSize: 50, totalSize: 5 });
    for (const [index, each] of all['tasks'].entries()) {
      const { artifacts: _, ...task } = (await call('GetTask', { id: ids[4 - index] }, ann)).result;
      expect(each).toEqual(task);
    }
    const [first] = (await list({ includeArtifacts: true, pageSize: 1, historyLength: 0 }))['tasks'];
    const { history: _, ...newest } = (await call('GetTask', { id: ids[4] }, ann)).result;
    expect(first).toEqual(newest);
  });

  test('selects a context, a state and a time', async () => {
    const { list, indexes } = await fill();
    expect(indexes(await list({ contextId: 'x', status: 'TASK_STATE_UNSPECIFIED' }))).toEqual([2, 0]);
    expect(indexes(await list({ status: 'TASK_STATE_COMPLETED' }))).toEqual([3, 1, 0]);
    expect(await list({ status: 'TASK_STATE_INPUT_REQUIRED' })).toMatchObject({ totalSize: 1 });
    const { tasks } = await list();
    const { timestamp } = tasks[1].status;
    expect(indexes(await list({ statusTimestampAfter: timestamp }))).toEqual([4, 3]);
    expect(await list({ contextId: 'unknown' })).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
  });

  test('is read in pages, even if tasks begin and sessions are deleted between them', async () => {
    const { list, indexes, sessionService } = await fill();
    const first = await list({ pageSize: 2 });
    expect([indexes(first), first['totalSize']]).toEqual([[4, 3], 5]);
    await sessionService.deleteSession({ appName: 'app', userId: 'ann', sessionId: 'z' });
    const second = await list({ pageSize: 2, pageToken: first['nextPageToken'] });
    expect(indexes(second)).toEqual([2, 1]);
    const third = await list({ pageSize: 2, pageToken: second['nextPageToken'] });
    expect([indexes(third), third['nextPageToken']]).toEqual([[0], '']);
    expect(await list({ pageToken: `0 ${'e-1:x'}` })).toMatchObject({ tasks: [], nextPageToken: '' });
  });

  test('is limited in its events, its sessions and its tasks in one state', async () => {
    const { call, list, sessionService } = await fill();
    const key = { appName: 'app', userId: 'ann', sessionId: 'long' };
    const session = await sessionService.createSession(key);
    const parts = [{ text: 'x' }];
    for (let run = 0; run < 1001; run++) {
      const event = createEvent({
        invocationId: `e-${run}`,
        author: 'user',
        timestamp: 1,
        content: { role: 'user', parts },
      });
      await sessionService.appendEvent({ session, event });
    }
    const refused = { code: -32004, message: expect.stringContaining('1000 tasks; write contextId') };
    expect((await call('ListTasks', { status: 'TASK_STATE_COMPLETED' }, ann)).error).toMatchObject(refused);
    expect((await list({ pageSize: 1 }))['totalSize']).toBe(1006);
    for (let index = 0; index < 1000; index++) await sessionService.createSession({ ...key, sessionId: `s${index}` });
    expect((await call('ListTasks', {}, ann)).error).toMatchObject({
      code: -32004,
      message: expect.stringContaining('1000 sessions'),
    });
    expect((await list({ contextId: 'x' }))['totalSize']).toBe(2);
    for (let index = 0; index < 19_000; index++)
      await sessionService.appendEvent({
        session,
        event: createEvent({ invocationId: 'e-1', author: 'clerk', timestamp: 2 }),
      });
    expect((await call('ListTasks', { contextId: 'long' }, ann)).error).toMatchObject({
      code: -32004,
      message: expect.stringContaining('20000 events'),
    });
  });

  test('of a server without users has the tasks of one context', async () => {
    const { call } = setUp([{ text: 'a' }, { text: 'b' }]);
    const { task } = (await call('SendMessage', say('hi', { contextId: 'one' }))).result;
    await call('SendMessage', say('hi', { contextId: 'other' }));
    const { result } = await call('ListTasks', { contextId: 'one' });
    expect(result).toMatchObject({ totalSize: 1, tasks: [{ id: task.id }] });
  });
});

describe('requests', () => {
  test('are refused if their message id belongs to another task', async () => {
    const { call } = setUp([{ text: 'One.' }, PAY]);
    const first = say('hi', { contextId: 'c' }) as { readonly message: object };
    await call('SendMessage', first);
    const { task } = (await call('SendMessage', say('pay', { contextId: 'c' }))).result;
    const mixed = await call('SendMessage', { message: { ...first.message, taskId: task.id } });
    expect(mixed.error).toMatchObject({ code: -32602, message: expect.stringContaining('belongs to another task') });
  });

  test('find no task of another user', async () => {
    const authenticate = ({ headers }: Request) => ({ userId: headers.get('authorization') ?? 'nobody' });
    const { call } = setUp([{ text: 'For Ann.' }, PAY], { authenticate });
    const [ann, bob] = [{ authorization: 'ann' }, { authorization: 'bob' }];
    const { task } = (await call('SendMessage', say('hi', { contextId: 'c' }), ann)).result;
    for (const method of ['GetTask', 'CancelTask', 'SubscribeToTask'])
      expect((await call(method, { id: task.id }, bob)).error).toMatchObject({ code: -32001 });
    expect((await call('SendMessage', say('hi', { taskId: task.id }), bob)).error).toMatchObject({ code: -32001 });
    expect((await call('GetTask', { id: task.id }, ann)).result.id).toBe(task.id);
  });

  test.each([
    ['a batch', [], -32600],
    ['no version', { id: 1, method: 'GetTask' }, -32600],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'GetTask' }, -32600],
    ['no method', { jsonrpc: '2.0', id: 1 }, -32600],
    ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'toString' }, -32601],
    ['parameters that are a list', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: [] }, -32602],
    ['no message', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} }, -32602],
    [
      'a message without a part',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('', { parts: [] }) },
      -32602,
    ],
    [
      'a message of an agent',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi', { role: 'ROLE_AGENT' }) },
      -32602,
    ],
    [
      'bytes that are not base64',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('', { parts: [{ raw: '%%' }] }) },
      -32602,
    ],
    [
      'a context id with NUL',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi', { contextId: 'a\u0000' }) },
      -32602,
    ],
    [
      'a context id with a path',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi', { contextId: 'a/../b' }) },
      -32602,
    ],
    [
      'a context id that is too long for a user',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi', { contextId: 'x'.repeat(250) }) },
      -32602,
    ],
    ['an unknown task', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'e-1:s' } }, -32001],
    ['a task id of no server', { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: '%:x' } }, -32001],
    ['a push notification', { jsonrpc: '2.0', id: 1, method: 'CreateTaskPushNotificationConfig', params: {} }, -32003],
    [
      'a message with one',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'message/send',
        params: { ...say('hi'), configuration: { pushNotificationConfig: { url: 'https://x.example' } } },
      },
      -32003,
    ],
    ['a list of no context', { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }, -32602],
    [
      'a page of 101 tasks',
      { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { contextId: 'c', pageSize: 101 } },
      -32602,
    ],
    [
      'a token of another server',
      { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { contextId: 'c', pageToken: 'x' } },
      -32602,
    ],
    [
      'a state that no task has',
      { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { contextId: 'c', status: 'done' } },
      -32602,
    ],
    [
      'a time that cannot be read',
      { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: { contextId: 'c', statusTimestampAfter: 'soon' } },
      -32602,
    ],
    [
      'a call in a first message',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: say('', { parts: [{ data: { name: 'pay', args: {} }, metadata: { adk_type: 'function_call' } }] }),
      },
      -32602,
    ],
    [
      'a response in a first message',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: say('', {
          parts: [{ data: { id: 'x', name: 'pay', response: {} }, metadata: { adk_type: 'function_response' } }],
        }),
      },
      -32602,
    ],
    [
      '1,001 parts',
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: say('', { parts: Array.from({ length: 1001 }, () => ({ text: 'x' })) }),
      },
      -32602,
    ],
    [
      'a message that passed eleven remote agents',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi', { metadata: { eventloom_hops: 11 } }) },
      -32004,
    ],
    ['an extended card', { jsonrpc: '2.0', id: 1, method: 'GetExtendedAgentCard' }, -32004],
    ['one in 0.3', { jsonrpc: '2.0', id: 1, method: 'agent/getAuthenticatedExtendedCard' }, -32007],
    ['a text that is not JSON', '{', -32700],
    [
      'a length of the history that is negative',
      { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { ...say('hi'), configuration: { historyLength: -1 } } },
      -32602,
    ],
  ])('with %s are refused, and change nothing', async (_, body, code) => {
    const { post, sessionService } = setUp([]);
    const response = await post(body);
    const answer = (await response.json()) as Json;
    expect([response.status, answer['error']?.code]).toEqual([200, code]);
    expect((await sessionService.listSessions({ appName: 'app' })).sessions).toEqual([]);
  });

  test('are bounded', async () => {
    const { post } = setUp([], { limits: { maxBodyBytes: 1000 } });
    expect((await post(say('x'.repeat(2000)))).status).toBe(413);
    const { call } = setUp([{ text: 'a long reply' }], { limits: { maxRunChars: 5 } });
    expect((await call('SendMessage', say('hi'))).error).toMatchObject({
      code: -32004,
      message: expect.stringContaining('streams'),
    });
    expect(
      (
        (await (
          await setUp([]).post({ jsonrpc: '2.0', id: 1, method: 'GetTask' }, { 'a2a-version': '2.0' })
        ).json()) as Json
      )['error'].code,
    ).toBe(-32009);
  });

  test('of an app that is not offered are not found', async () => {
    const agent = payingAgent([]);
    const { server } = serveAgent(agent, { protocols: [a2a({ agents: { other: agent } })] });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: say('hi') });
    const response = await server.fetch(new Request('http://localhost/a2a/app', { method: 'POST', body }));
    expect([response.status, await response.json()]).toMatchObject([404, { code: 'APP_NOT_FOUND' }]);
  });
});
