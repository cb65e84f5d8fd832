import type { Platform } from '@eventloom/core';
import { fixedPlatform, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod';
import {
  A2AAgentExecutor,
  type A2AStreamEventData,
  type A2aTask,
  bearerTokenUserBuilder,
  FunctionTool,
  getA2AAgentCard,
  getLogger,
  InMemoryRunner,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  RemoteA2AAgent,
  setLogger,
  type RemoteA2AAgentConfig,
  StreamingMode,
  toA2a,
} from './index.ts';

/** An executor of an agent that pays once a person has confirmed it, and what was paid. */
function createDesk(allowRemoteToolConfirmation?: boolean) {
  const paid: number[] = [];
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    parameters: z.object({ euros: z.number() }),
    requireConfirmation: true,
    execute: ({ euros }) => void paid.push(euros),
  });
  const model = new ScriptedModel([{ calls: [{ name: 'pay', args: { euros: 3 } }] }, 'Done.', 'No.']);
  const agent = new LlmAgent({ name: 'clerk', model, tools: [pay] });
  const executor = new A2AAgentExecutor({
    runner: { agent, appName: 'desk', sessionService: new InMemorySessionService() },
    runConfig: { allowRemoteToolConfirmation },
  });
  const send = async (part: object, task?: A2aTask): Promise<A2AStreamEventData[]> => {
    const published: A2AStreamEventData[] = [];
    const userMessage = { kind: 'message', messageId: 'm', role: 'user', parts: [part] } as never;
    await executor.execute({ userMessage, taskId: 't', contextId: 'c', task }, { publish: (e) => published.push(e) });
    return published;
  };
  return { send, paid };
}

async function confirm(allowRemoteToolConfirmation?: boolean, givenName?: string) {
  const { send, paid } = createDesk(allowRemoteToolConfirmation);
  const asked = (await send({ kind: 'text', text: 'Pay 3.' })).at(-1);
  if (asked?.kind !== 'status-update') return expect.unreachable();
  const call = asked.status.message?.parts.find((part) => part.kind === 'data')?.data;
  const data = { id: call?.['id'], name: givenName ?? call?.['name'], response: { confirmed: true } };
  const task: A2aTask = { kind: 'task', id: 't', contextId: 'c', status: asked.status };
  const answered = await send({ kind: 'data', data, metadata: { adk_type: 'function_response' } }, task);
  const again = await send({ kind: 'text', text: 'Anything else?' });
  return { paid, answered: answered.at(-1), again: again.at(-1) };
}

test.each([undefined, 'pay', ''])(
  'an executor takes a confirmation over A2A for a no, and the task continues without the tool, for the name %s',
  async (name) => {
    const lines = vi.spyOn(getLogger(), 'warn').mockReturnValue(undefined);
    onTestFinished(() => lines.mockRestore());
    const { paid, answered, again } = await confirm(undefined, name);
    expect(paid).toEqual([]);
    expect(answered).toMatchObject({ status: { state: 'completed' }, final: true });
    expect(again).toMatchObject({ status: { state: 'completed' }, final: true });
    expect(lines.mock.calls).toEqual([
      [expect.stringMatching(/counts as a no over A2A; write runConfig: \{ allowRemoteToolConfirmation: true \}/)],
    ]);
  },
);

test('an executor names the call whose answer is missing', async () => {
  const { send } = createDesk();
  const asked = (await send({ kind: 'text', text: 'Pay 3.' })).at(-1);
  if (asked?.kind !== 'status-update') return expect.unreachable();
  const task: A2aTask = { kind: 'task', id: 't', contextId: 'c', status: asked.status };
  const again = await send({ kind: 'text', text: 'Why?' }, task);
  expect(JSON.stringify(again)).toContain('No input provided for function call id adk-');
});

test('an executor with allowRemoteToolConfirmation accepts a confirmation over A2A', async () => {
  const { paid, answered } = await confirm(true);
  expect(paid).toEqual([3]);
  expect(answered).toMatchObject({ status: { state: 'completed' } });
});

const SESSION = { adk_app_name: 'desk', adk_user_id: 'A2A_USER_c', adk_session_id: 'c' };

test('an executor publishes each call once, with the marks and the metadata of the ADK', async () => {
  const approve = new LongRunningFunctionTool({ name: 'approve', description: 'x', execute: () => ({ sent: true }) });
  // A model may give the same id to all its replies.
  const reply = (more: object): ScriptedStep => ({ response: { responseId: 'r' }, ...more });
  const model = new ScriptedModel([
    reply({ chunks: [{ responseId: 'r', content: { parts: [{ text: 'Let ' }] } }, 'me.'] }),
    reply({ calls: [{ name: 'approve', args: {} }] }),
    reply({ chunks: [{ responseId: 'r', content: { parts: [{ text: 'Wai' }] } }, 'ting.'] }),
  ]);
  const agent = new LlmAgent({ name: 'clerk', model, tools: [approve] });
  const executor = new A2AAgentExecutor({
    runner: { agent, appName: 'desk', sessionService: new InMemorySessionService() },
    runConfig: { streamingMode: StreamingMode.SSE },
  });
  const published: A2AStreamEventData[] = [];
  for (const text of ['Hello.', 'Approve it.']) {
    const userMessage = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text }] } as never;
    await executor.execute({ userMessage, taskId: 't', contextId: 'c' }, { publish: (each) => published.push(each) });
  }
  const updates = published.flatMap((each) => (each.kind === 'artifact-update' ? [each] : []));
  const call = { kind: 'data', metadata: { adk_type: 'function_call', adk_is_long_running: true } };
  const response = { kind: 'data', metadata: { adk_type: 'function_response' } };
  const text = (words: string) => ({ parts: [{ kind: 'text', text: words }] });
  const marks = (partial: boolean, isLongRunning = false) => ({
    metadata: { ...SESSION, adk_author: 'clerk', adk_partial: partial, adk_is_long_running: isLongRunning },
  });
  expect(updates).toMatchObject([
    { artifact: text('Let '), ...marks(true) },
    { artifact: text('me.'), append: true, ...marks(true) },
    { artifact: text('Let me.'), lastChunk: true, ...marks(false) },
    { artifact: { parts: [call] }, lastChunk: true, ...marks(false, true) },
    { artifact: { parts: [response] }, lastChunk: true, ...marks(false) },
    { artifact: text('Wai'), ...marks(true) },
    { artifact: text('ting.'), append: true, ...marks(true) },
    { artifact: text('Waiting.'), lastChunk: true, ...marks(false) },
  ]);
  const appended = updates.flatMap(({ append }, index) => (append ? [index] : []));
  expect(appended).toEqual([1, 6]);
  const ids = updates.map(({ artifact }) => artifact.artifactId);
  expect(ids.map((id) => ids.indexOf(id))).toEqual([0, 0, 0, 3, 4, 5, 5, 5]);
  const ends = published.flatMap((each) => (each.kind === 'status-update' && each.final ? [each] : []));
  expect(ends).toMatchObject([
    { status: { state: 'completed' }, metadata: SESSION },
    { status: { state: 'input-required' }, metadata: SESSION },
  ]);
  // Clients of the ADK would show a text as the words of the model.
  expect(ends[1]?.status.message?.parts).toMatchObject([call]);
});

test('an executor reports a run that throws as a failed task with the code of the error', async () => {
  const { send } = createDesk();
  await send({ kind: 'text', text: 'Pay 3.' });
  const model = new ScriptedModel([new TypeError('no model')]);
  const agent = new LlmAgent({ name: 'clerk', model });
  const executor = new A2AAgentExecutor({
    runner: { agent, appName: 'desk', sessionService: new InMemorySessionService() },
  });
  const published: A2AStreamEventData[] = [];
  const userMessage = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] } as const;
  const request = { userMessage: { ...userMessage, parts: [...userMessage.parts] }, taskId: 't', contextId: 'c' };
  await executor.execute(request, { publish: (each) => published.push(each) });
  expect(published.at(-1)).toMatchObject({
    status: { state: 'failed', message: { parts: [{ text: expect.stringContaining('no model') }] } },
    metadata: { ...SESSION, adk_error_code: 'MODEL' },
  });
});

async function ask(config: Partial<RemoteA2AAgentConfig>, platform?: Platform) {
  const agent = new RemoteA2AAgent({ name: 'remote', ...config });
  const runner = new InMemoryRunner({ agent, appName: 'talk', platform });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
  const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
  const events = await runner.run({ userId: 'ann', sessionId, newMessage });
  return events.filter(({ partial }) => partial !== true);
}

const MESSAGE = { kind: 'message', messageId: 'a', role: 'agent', parts: [{ kind: 'text', text: 'hello' }] };

/** A client of the program whose methods are not called, except for the given ones. */
function clientWith(methods: Partial<NonNullable<RemoteA2AAgentConfig['client']>>): RemoteA2AAgentConfig['client'] {
  const unused = () => Promise.reject(new Error('not called'));
  return {
    sendMessageStream: () => expect.unreachable(),
    sendMessage: unused,
    resubscribeTask: () => expect.unreachable(),
    getTask: unused,
    cancelTask: () => Promise.resolve({ kind: 'task', id: 't', contextId: 'c', status: { state: 'canceled' } }),
    ...methods,
  };
}

/** A client of the program that answers each request with MESSAGE, and the parameters of its requests. */
function answeringClient() {
  const sent: unknown[] = [];
  const sendMessageStream = (params: unknown) => {
    sent.push(params);
    return itemsOf(MESSAGE);
  };
  return { client: clientWith({ sendMessageStream }), sent };
}

test('a remote agent sends its requests through the client of the program', async () => {
  const { client, sent } = answeringClient();
  const events = await ask({ client, messageSendConfig: { historyLength: 2 } });
  expect(events).toMatchObject([{ author: 'remote', content: { parts: [{ text: 'hello' }] } }]);
  expect(sent).toMatchObject([
    {
      message: { kind: 'message', parts: [{ text: 'hi' }], metadata: { adk_user_id: 'ann' } },
      configuration: { historyLength: 2 },
    },
  ]);
});

test('a remote agent sends and reads what the callbacks of the program changed', async () => {
  const { client, sent } = answeringClient();
  const events = await ask({
    client,
    beforeRequestCallbacks: [(_, params) => void (params.message.metadata = { trace: 1 })],
    afterRequestCallbacks: [
      (_, resp) => {
        if (resp.kind === 'message') resp.parts = [{ kind: 'text', text: 'changed' }];
      },
    ],
  });
  expect(sent).toMatchObject([{ message: { metadata: { trace: 1 } } }]);
  expect(events).toMatchObject([{ content: { parts: [{ text: 'changed' }] } }]);
});

test('a callback that rejects fails the request with an event', async () => {
  silenceLogger();
  const events = await ask({
    beforeRequestCallbacks: [() => Promise.reject(new Error('not allowed'))],
    client: clientWith({}),
  });
  expect(events).toMatchObject([{ author: 'remote', errorMessage: 'not allowed' }]);
});

/** The clock of agents that wait before they ask for a task: their timers run at once, and no time-out does. */
function hurried(): Platform {
  const platform = fixedPlatform();
  return {
    ...platform,
    schedule: (delayMs, callback) => platform.schedule(delayMs <= 30_000 ? 0 : delayMs, callback),
  };
}

async function* itemsOf(...items: object[]): AsyncGenerator<object, void, void> {
  yield* items;
}

function silenceLogger(): void {
  const logger = getLogger();
  setLogger(null);
  onTestFinished(() => setLogger(logger));
}

const update = (state: string, text?: string) => {
  const parts = [{ kind: 'text', text }];
  const message = { kind: 'message', messageId: 's', role: 'agent', parts };
  const status = { state, ...(text === undefined ? {} : { message }) };
  return { kind: 'status-update', taskId: 't', contextId: 'c', final: true, status };
};

describe('a task of a remote agent without a result is an event with the words of the remote agent', () => {
  test.each([
    ['failed', 'no luck', 'no luck'],
    ['rejected', 'not allowed', 'not allowed'],
    ['canceled', undefined, 'the task t ended as canceled, and its agent gave no reason'],
    ['auth-required', 'log in', 'log in'],
    ['auth-required', undefined, 'the task t requires a credential; send it with the client'],
  ])('for a task that is %s', async (state, words, errorMessage) => {
    silenceLogger();
    const sent: { message: object }[] = [];
    const client = clientWith({
      sendMessageStream: (params: { message: object }) => {
        sent.push(params);
        return itemsOf(sent.length === 1 ? update(state, words) : MESSAGE);
      },
    });
    const agent = new RemoteA2AAgent({ name: 'remote', client });
    const runner = new InMemoryRunner({ agent, appName: 'talk' });
    const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
    const say = (text: string) =>
      runner.run({ userId: 'ann', sessionId, newMessage: { role: 'user', parts: [{ text }] } });
    const events = await say('hi');
    expect(events).toMatchObject([
      { author: 'remote', errorCode: 'A2A_TASK', errorMessage, customMetadata: { 'a2a:task_id': 't' } },
    ]);
    // The next message continues the conversation, as in the ADK.
    expect(await say('again')).toMatchObject([{ content: { parts: [{ text: 'hello' }] } }]);
    expect(sent[1]?.message).toMatchObject({ contextId: 'c', parts: [{ text: 'again' }] });
  });
});

describe('an error of the client of the program', () => {
  const artifact = { artifactId: 'a', parts: [{ kind: 'text', text: 'half' }] };
  const half = { kind: 'artifact-update', taskId: 't', contextId: 'c', artifact };
  const lost = new TypeError('terminated', { cause: new Error('other side closed') });
  async function* failing(error: Error): AsyncGenerator<object, void, void> {
    yield half;
    throw error;
  }

  test.each([
    ['sendMessageStream', { sendMessageStream: () => failing(new Error('task not found')) }],
    ['sendMessageStream, before it begins', { sendMessageStream: () => itemsOfNothing(new Error('task not found')) }],
    [
      'sendMessage',
      { sendMessageStream: undefined as never, sendMessage: () => Promise.reject(new Error('task not found')) },
    ],
  ])('of %s is an event with its message at once', async (method, methods) => {
    silenceLogger();
    const card = { name: 'r', url: 'http://127.0.0.1:9/', capabilities: { streaming: method !== 'sendMessage' } };
    const events = await ask({ client: clientWith(methods), agentCard: card as never });
    expect(events).toMatchObject([{ author: 'remote', errorCode: 'A2A_PROTOCOL', errorMessage: 'task not found' }]);
  });

  test('does not cancel the task, and is logged in one line', async () => {
    const logged: unknown[][] = [];
    const logger = getLogger();
    const note = (...args: unknown[]): void => void logged.push(args);
    setLogger({ setLogLevel() {}, log: note, debug: note, info: note, warn: note, error: note });
    onTestFinished(() => setLogger(logger));
    const cancelTask = async (): Promise<object> => (note('cancelled'), {});
    await ask({ client: clientWith({ sendMessageStream: () => failing(new Error('not\nfound')), cancelTask }) });
    expect(logged).toEqual([['RemoteA2AAgent remote failed: A2A_PROTOCOL: not found']]);
  });

  test('is final when the rest of a lost answer is read, and an empty answer is read from the task', async () => {
    silenceLogger();
    const gone = await ask(
      {
        client: clientWith({
          sendMessageStream: () => failing(lost),
          resubscribeTask: () => itemsOfNothing(new Error('unsupported')),
          getTask: () => Promise.reject(new Error('task not found')),
        }),
      },
      hurried(),
    );
    expect(gone).toMatchObject([{ errorCode: 'A2A_PROTOCOL', errorMessage: 'task not found' }]);
    const status = { state: 'completed' };
    const read = await ask(
      {
        client: clientWith({
          sendMessageStream: () => failing(lost),
          resubscribeTask: () => itemsOf(),
          getTask: () => Promise.resolve({ kind: 'task', id: 't', contextId: 'c', status, artifacts: [artifact] }),
        }),
      },
      hurried(),
    );
    expect(read).toMatchObject([{ content: { parts: [{ text: 'half' }] } }]);
  });

  test('names the client or the address of the card, and a method that the client does not have', async () => {
    silenceLogger();
    const sendMessageStream = () => 5 as never;
    expect(await ask({ client: clientWith({ sendMessageStream }) })).toMatchObject([
      {
        errorMessage: expect.stringMatching(
          /: its client: client.sendMessageStream: expected an async iterable, got the number 5/,
        ),
      },
    ]);
    const agentCard = { name: 'r', url: 'http://agents.example/', capabilities: { streaming: false } } as never;
    const client = { sendMessageStream } as never;
    expect(await ask({ client, agentCard })).toMatchObject([
      { errorMessage: expect.stringMatching(/agents.example\/: client.sendMessage: expected a method, got nothing/) },
    ]);
  });

  test('is an event also if the factory of the client throws it or returns no client', async () => {
    silenceLogger();
    const agentCard = { name: 'r', url: 'http://agents.example/', capabilities: {} } as never;
    const create = (createFromAgentCard: () => Promise<never>) =>
      ask({ agentCard, clientFactory: { createFromAgentCard } });
    expect(await create(() => Promise.reject(new Error('no transport')))).toMatchObject([
      { errorMessage: 'no transport' },
    ]);
    expect(await create(() => Promise.resolve(undefined as never))).toMatchObject([
      { errorCode: 'A2A_PROTOCOL', errorMessage: expect.stringContaining('expected a promise of a client') },
    ]);
  });

  // oxlint-disable-next-line require-yield -- fails before it yields
  async function* itemsOfNothing(error: Error): AsyncGenerator<object, void, void> {
    throw error;
  }
});

test('a callback that throws a text fails the request with an event', async () => {
  silenceLogger();
  const fail = () => {
    throw 'not today'; // oxlint-disable-line typescript/only-throw-error -- as programs in JavaScript do
  };
  const events = await ask({ beforeRequestCallbacks: [fail], client: clientWith({}) });
  expect(events).toMatchObject([{ errorMessage: 'not today' }]);
});

test('a remote agent without a card and a client is refused, and so is a file that has no card', () => {
  expect(() => new RemoteA2AAgent({ name: 'remote' })).toThrow(/agentCard: is missing/);
  const folder = mkdtempSync(join(tmpdir(), 'eventloom-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const agentCard = join(folder, 'card.json');
  expect(() => new RemoteA2AAgent({ name: 'remote', agentCard })).toThrow(/cannot read a card from/);
  writeFileSync(agentCard, '{}');
  expect(() => new RemoteA2AAgent({ name: 'remote', agentCard })).toThrow(/expected an agent card/);
});

const REST = { name: 'r', url: 'http://localhost:1/rest', preferredTransport: 'HTTP+JSON', capabilities: {} };

test.each<[unknown, RegExp]>([
  [undefined, /^RemoteA2AAgent: expected an object of options, got nothing; write new RemoteA2AAgent\(/],
  [{}, /^RemoteA2AAgent: agentCard: is missing/],
  [{ name: 5, agentCard: 'http://localhost:1/' }, /name: expected a string, got the number 5/],
  [{ agentCard: 'http://localhost:1/' }, /RemoteA2AAgent: name is missing/],
  [{ name: 'r', agentCard: 5 }, /agentCard: expected an address/],
  [{ name: 'r', agentCard: '' }, /agentCard: expected an address/],
  [{ name: 'r', agentCard: 'http://' }, /agentCard: expected an address/],
  [{ name: 'r', agentCard: REST }, /no other transport is supported; .*write clientFactory: new ClientFactory\(\)/],
  [{ name: 'r', agentcard: REST }, /did you mean "agentCard"/],
  [
    { name: 'r', agentCard: 'http://localhost:1/', foo: 1 },
    /it has .*agentCard, client, clientFactory, messageSendConfig, beforeRequestCallbacks, afterRequestCallbacks, headers/,
  ],
  [{ name: 'r', client: {} }, /client: expected a client with sendMessageStream and sendMessage, got an object/],
  [{ name: 'r', client: 'x' }, /client: expected a client/],
  [{ name: 'r', agentCard: 'http://localhost:1/', clientFactory: {} }, /clientFactory: expected a factory/],
  [
    { name: 'r', client: clientWith({}), beforeRequestCallbacks: () => 1 },
    /beforeRequestCallbacks: expected a list of/,
  ],
  [
    { name: 'r', client: clientWith({}), afterRequestCallbacks: [5] },
    /afterRequestCallbacks\[0\]: expected a function/,
  ],
  [{ name: 'r', client: clientWith({}), messageSendConfig: 5 }, /messageSendConfig: expected an object/],
  [{ name: 'r', client: clientWith({}), headers: { a: 'b' } }, /headers: a client sends its own/],
])('a remote agent is refused for the invalid options %#, with what to write', (options, advice) => {
  const create = () => new RemoteA2AAgent(options as never);
  expect(create).toThrow(advice);
  expect(create).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('a fetched card that has only another transport fails the request with what to write', async () => {
  silenceLogger();
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(REST));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  expect(await ask({ agentCard: `http://127.0.0.1:${port}/` })).toMatchObject([
    { errorCode: 'A2A_PROTOCOL', errorMessage: expect.stringContaining('write clientFactory: new ClientFactory()') },
  ]);
});

const CLERK = () => new LlmAgent({ name: 'clerk', model: new ScriptedModel(['x']) });
const RUNNER = () => ({ agent: CLERK(), appName: 'desk', sessionService: new InMemorySessionService() });

test.each<[() => unknown, RegExp]>([
  [() => new A2AAgentExecutor({ runner: CLERK() } as never), /runner: expected a runner, its options/],
  [() => new A2AAgentExecutor({ runner: {} } as never), /agent is missing/],
  [() => new A2AAgentExecutor({ runner: { ...RUNNER(), agnet: 1 } } as never), /has no option "agnet"/],
  [
    () => new A2AAgentExecutor({ runner: RUNNER(), runConfig: { maxLlmCall: 5 } as never }),
    /runConfig: has no option "maxLlmCall"; did you mean "maxLlmCalls"/,
  ],
  [
    () => new A2AAgentExecutor({ runner: RUNNER(), runConfig: { allowRemoteToolConfirmation: 'yes' } as never }),
    /runConfig: allowRemoteToolConfirmation: expected true or false, got a string/,
  ],
  [
    () => new A2AAgentExecutor({ runner: RUNNER(), runConfig: { pauseOnToolCalls: 'yes' } as never }),
    /runConfig: pauseOnToolCalls: expected true or false, got a string/,
  ],
])('an executor is refused for the invalid options %#, with what to write', (create, advice) => {
  expect(create).toThrow(advice);
  expect(create).toThrow(expect.objectContaining({ code: 'CONFIGURATION' }));
});

test('an executor rejects for a request, a bus and a runner that cannot be used', async () => {
  const bus = { publish: () => undefined };
  const userMessage = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] } as never;
  const executor = new A2AAgentExecutor({ runner: RUNNER() });
  const execute = executor.execute.bind(executor) as (...given: unknown[]) => Promise<void>;
  const request = { userMessage, taskId: 't', contextId: 'c' };
  await expect(execute()).rejects.toMatchObject({
    code: 'INVALID_REQUEST',
    message: expect.stringContaining('expected a request'),
  });
  await expect(execute({ userMessage, taskId: 't' }, bus)).rejects.toThrow(/contextId: expected an id, got nothing/);
  await expect(execute(request)).rejects.toThrow(/expected an event bus, got nothing/);
  await expect(execute(request, {})).rejects.toThrow(/expected an event bus, got an object/);
  await expect(execute({ ...request, userMessage: { ...MESSAGE, parts: [{ kind: 'what' }] } }, bus)).rejects.toThrow(
    /message.parts\[0\]: expected a part of the kind "text" with text/,
  );
  const empty = new A2AAgentExecutor({ runner: () => undefined as never });
  await expect(empty.execute(request, bus)).rejects.toMatchObject({ code: 'CONFIGURATION' });
});

test('toA2a without authentication and allowUnauthenticated is refused', async () => {
  const agent = new LlmAgent({ name: 'clerk', model: new ScriptedModel(['x']) });
  await expect(toA2a(agent)).rejects.toThrow(/authentication: is missing/);
});

const OPEN = { allowUnauthenticated: true };

test.each<[() => Promise<unknown>, RegExp]>([
  [() => toA2a({} as never, OPEN), /toA2a: expected an agent, got an object/],
  [() => toA2a(CLERK(), { ...OPEN, basePath: 'a2a' }), /basePath: expected a path that begins with \/, got "a2a"/],
  [() => toA2a(CLERK(), { ...OPEN, protocol: 'https://' }), /protocol: expected http or https/],
  [() => toA2a(CLERK(), { ...OPEN, host: 'http://localhost' }), /host: expected the name of a host/],
  [() => toA2a(CLERK(), { ...OPEN, app: (() => undefined) as never }), /app: expected an application of Express/],
  [() => toA2a(CLERK(), { ...OPEN, agentCard: {} as never }), /agentCard: expected a card .* its name is nothing/],
  [() => toA2a(CLERK(), { ...OPEN, agentCard: 'http://127.0.0.1:1/' }), /agentCard: cannot load a card from http/],
  [() => toA2a(CLERK(), { ...OPEN, agentCard: 'http://' }), /agentCard: cannot load a card from http/],
  [() => getA2AAgentCard({} as never, []), /expected an agent, got an object/],
  [() => getA2AAgentCard(CLERK(), undefined as never), /transports: expected a list of addresses, got nothing/],
  [() => getA2AAgentCard(CLERK(), []), /transports: expected a list of addresses, got an empty list/],
  [() => getA2AAgentCard(CLERK(), ['x'] as never), /transports\[0\]: expected \{ url, transport \}, got a string/],
])('toA2a and getA2AAgentCard reject for the invalid input %#, with what to write', async (call, advice) => {
  silenceLogger();
  await expect(call()).rejects.toMatchObject({ code: 'CONFIGURATION', message: expect.stringMatching(advice) });
});

test('a path with / at its end is that of the card and of the routes', async () => {
  silenceLogger();
  const paths: unknown[] = [];
  const app = Object.assign(() => undefined, { use: (path: unknown) => void paths.push(path) });
  await toA2a(CLERK(), { ...OPEN, basePath: '/a2a/', app });
  expect(paths).toEqual(['/a2a/.well-known/agent-card.json', '/a2a/rest', '/a2a/jsonrpc']);
});

test('a bearer token builder accepts only its token', async () => {
  expect(() => bearerTokenUserBuilder(' ')).toThrow(/the token is empty/);
  // A variable of the environment that is not set.
  expect(() => bearerTokenUserBuilder(undefined as never)).toThrow(/expected a token, got nothing/);
  const build = bearerTokenUserBuilder(' secret ');
  await expect(build({ headers: { authorization: 'bearer secret' } })).resolves.toEqual({
    isAuthenticated: true,
    userName: 'a2a-bearer-token',
  });
  for (const authorization of ['Bearer secre', 'Bearer secret2', 'Basic secret', '', undefined])
    await expect(build({ headers: { authorization } })).rejects.toThrow(/no valid bearer token/);
});
