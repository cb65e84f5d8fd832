import { ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import {
  A2AAgentExecutor,
  type A2AStreamEventData,
  type A2aTask,
  bearerTokenUserBuilder,
  FunctionTool,
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
  const model = new ScriptedModel([{ calls: [{ name: 'pay', args: { euros: 3 } }] }, 'Done.']);
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
  return { paid, answered: answered.at(-1) };
}

test.each([undefined, 'pay', ''])(
  'an executor takes no confirmation over A2A and says so, and the task still waits, for the name %s',
  async (name) => {
    const { paid, answered } = await confirm(undefined, name);
    expect(paid).toEqual([]);
    expect(answered).toMatchObject({ status: { state: 'input-required' }, final: true });
    expect(JSON.stringify(answered)).toMatch(/A confirmation is not accepted over A2A.*allowRemoteToolConfirmation: true/);
  },
);

test('an executor says for which call an answer is missing', async () => {
  const { send } = createDesk();
  const asked = (await send({ kind: 'text', text: 'Pay 3.' })).at(-1);
  if (asked?.kind !== 'status-update') return expect.unreachable();
  const task: A2aTask = { kind: 'task', id: 't', contextId: 'c', status: asked.status };
  const again = await send({ kind: 'text', text: 'Why?' }, task);
  expect(JSON.stringify(again)).toContain('No input provided for function call id adk-');
});

test('an executor with allowRemoteToolConfirmation takes a confirmation over A2A', async () => {
  const { paid, answered } = await confirm(true);
  expect(paid).toEqual([3]);
  expect(answered).toMatchObject({ status: { state: 'completed' } });
});

const SESSION = { adk_app_name: 'desk', adk_user_id: 'A2A_USER_c', adk_session_id: 'c' };

test('an executor publishes each call once, with the marks and the metadata of the ADK', async () => {
  const approve = new LongRunningFunctionTool({ name: 'approve', description: 'x', execute: () => ({ sent: true }) });
  // A model may give the same id to all its replies.
  const reply = (more: object): ScriptedStep => ({ responseId: 'r', ...more });
  const model = new ScriptedModel([
    reply({ chunks: ['Let ', 'me.'] }),
    reply({ calls: [{ name: 'approve', args: {} }] }),
    reply({ chunks: ['Wai', 'ting.'] }),
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

async function ask(config: Partial<RemoteA2AAgentConfig>) {
  const agent = new RemoteA2AAgent({ name: 'remote', ...config });
  const runner = new InMemoryRunner({ agent, appName: 'talk' });
  const { id: sessionId } = await runner.sessionService.createSession({ appName: 'talk', userId: 'ann' });
  const newMessage = { role: 'user', parts: [{ text: 'hi' }] };
  return runner.run({ userId: 'ann', sessionId, newMessage });
}

const MESSAGE = { kind: 'message', messageId: 'a', role: 'agent', parts: [{ kind: 'text', text: 'hello' }] };

test('a remote agent sends its requests through the client of the program', async () => {
  const sent: unknown[] = [];
  const client: RemoteA2AAgentConfig['client'] = {
    async *sendMessageStream(params: unknown) {
      sent.push(params);
      yield MESSAGE;
    },
    sendMessage: () => Promise.reject(new Error('not called')),
    resubscribeTask: () => expect.unreachable(),
    getTask: () => Promise.reject(new Error('not called')),
    cancelTask: () => Promise.reject(new Error('not called')),
  };
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
  const sent: unknown[] = [];
  const client: RemoteA2AAgentConfig['client'] = {
    async *sendMessageStream(params: unknown) {
      sent.push(params);
      yield MESSAGE;
    },
    sendMessage: () => Promise.reject(new Error('not called')),
    resubscribeTask: () => expect.unreachable(),
    getTask: () => Promise.reject(new Error('not called')),
    cancelTask: () => Promise.reject(new Error('not called')),
  };
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
  const logger = getLogger();
  setLogger(null);
  onTestFinished(() => setLogger(logger));
  const events = await ask({
    beforeRequestCallbacks: [() => Promise.reject(new Error('not allowed'))],
    client: { sendMessageStream: () => expect.unreachable() } as never,
  });
  expect(events).toMatchObject([{ author: 'remote', errorMessage: 'not allowed' }]);
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

test('toA2a without authentication and allowUnauthenticated is refused', async () => {
  const agent = new LlmAgent({ name: 'clerk', model: new ScriptedModel(['x']) });
  await expect(toA2a(agent)).rejects.toThrow(/authentication: is missing/);
});

test('a bearer token builder accepts its token alone', async () => {
  expect(() => bearerTokenUserBuilder(' ')).toThrow(/the token is empty/);
  const build = bearerTokenUserBuilder(' secret ');
  await expect(build({ headers: { authorization: 'bearer secret' } })).resolves.toEqual({
    isAuthenticated: true,
    userName: 'a2a-bearer-token',
  });
  for (const authorization of ['Bearer secre', 'Bearer secret2', 'Basic secret', '', undefined])
    await expect(build({ headers: { authorization } })).rejects.toThrow(/no valid bearer token/);
});
