import { live } from '@eventloom/live';
import { liveEndpoint } from '@eventloom/live/server';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { type NodeServer, serve } from '@eventloom/server/node';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, ScriptedLiveModel, type ScriptedLiveStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { afterEach, expect, test } from 'vitest';
import { EventloomClient, ServerError } from '../index.ts';
import { AgentCall, type AgentCallOptions, LiveCall } from './index.ts';

let server: NodeServer | undefined;
afterEach(() => server?.shutDown());

/** A connection that the test can lose. */
class LosableSocket extends WebSocket {
  static newest: LosableSocket | undefined;

  constructor(...params: ConstructorParameters<typeof WebSocket>) {
    super(...params);
    LosableSocket.newest = this;
  }

  lose(): void {
    this.dispatchEvent(new CloseEvent('close', { code: 1006 }));
  }
}

/** Opens a call. @param connections the scripts of the model's connections */
async function open(
  connections: readonly (readonly ScriptedLiveStep[])[],
  tools: readonly FunctionTool[] = [],
  options: Partial<AgentCallOptions> = {},
) {
  const runner = new Runner({
    appName: 'voice',
    agent: new LlmAgent({ name: 'speaker', model: new ScriptedLiveModel(connections), tools: [...tools] }),
    live: live(),
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  server = await serve(createServer({ runners: [runner], live: liveEndpoint() }), { port: 0, drainMs: 0 });
  const baseUrl = server.url;
  const session = new EventloomClient({ baseUrl }).session({ appName: 'voice', userId: 'me', sessionId: 'first' });
  let connected = 0;
  const call = new AgentCall(session, {
    retry: { firstDelayMs: 0, maxDelayMs: 0, attempts: 3 },
    connect: () => {
      connected++;
      return new LiveCall({ ...session.key, baseUrl, WebSocket: LosableSocket });
    },
    ...options,
  });
  const statuses: string[] = [];
  call.subscribe(() => {
    if (statuses.at(-1) !== call.snapshot.status) statuses.push(call.snapshot.status);
  });
  return { call, statuses, session, connected: () => connected };
}

const shown = ({ snapshot }: AgentCall): string[] =>
  snapshot.conversation.messages.map(({ author, parts }) => {
    const said = parts.map((part) => ('text' in part ? part.text : 'status' in part ? part.status : part.type));
    return `${author}: ${said.join()}`;
  });

test('a lost call is opened again, and shows the end of what was lost and what was said before and after', async () => {
  const gate = new Gate();
  const look = new FunctionTool({
    name: 'look',
    description: 'Looks.',
    execute: async (_args, { abortSignal }) => {
      await gate.pass(abortSignal);
      return {};
    },
  });
  const { call, statuses, session } = await open(
    [
      [
        { heard: /Hi/ },
        { outputTranscription: { text: 'Hello.', finished: true } },
        { turnComplete: true },
        { content: { parts: [{ functionCall: { id: 'c1', name: 'look', args: {} } }] } },
        { heard: 'content' },
      ],
      [
        { heard: /Again/ },
        { outputTranscription: { text: 'I am here.', finished: true } },
        { turnComplete: true },
        { heard: 'content' },
      ],
    ],
    [look],
  );
  expect(() => call.send('Hi')).toThrow('the call is not open');
  await expect.poll(() => call.snapshot.status).toBe('open');
  call.send('Hi');
  await gate.reached;
  await expect.poll(() => shown(call)).toEqual(['user: Hi', 'speaker: Hello.', 'speaker: running']);
  LosableSocket.newest?.lose();
  await expect.poll(() => statuses).toEqual(['open', 'reconnecting', 'open']);
  await expect.poll(() => shown(call)).toEqual(['user: Hi', 'speaker: Hello.', 'speaker: failed']);
  call.send('Again');
  await expect.poll(() => shown(call).slice(3)).toEqual(['user: Again', 'speaker: I am here.']);
  const whole = shown(call);
  call.close();
  await call.ended;
  expect(call.snapshot).toMatchObject({ status: 'ended', error: undefined });
  expect(statuses).toEqual(['open', 'reconnecting', 'open', 'ended']);
  const { events } = await session.get();
  expect(events.length).toBeGreaterThan(0);
  expect(shown(call)).toEqual(whole);
});

test('a call whose first connection is lost before it was open waits until the server gives its session free', async () => {
  const sockets: LosableSocket[] = [];
  class LostAtOnce extends LosableSocket {
    constructor(...params: ConstructorParameters<typeof WebSocket>) {
      super(...params);
      // The server keeps the first connection, and its session, until it is closed.
      if (sockets.push(this) === 1) this.addEventListener('open', () => this.lose());
    }
  }
  const key = { appName: 'voice', userId: 'me', sessionId: 'first' };
  const { call } = await open([[{ heard: 'content' }], [{ heard: 'content' }]], [], {
    retry: { firstDelayMs: 0, maxDelayMs: 0, attempts: 1000 },
    connect: () => new LiveCall({ ...key, baseUrl: server?.url ?? '', onBusy: 'reject', WebSocket: LostAtOnce }),
  });
  await expect.poll(() => sockets.length).toBeGreaterThan(2);
  sockets[0]?.close();
  await expect.poll(() => call.snapshot.status).toBe('open');
  call.close();
  await call.ended;
  expect(call.snapshot.error).toBeUndefined();
});

test('a call that a busy server refused ends if somebody else has its session', async () => {
  const refusals = ['SERVER_BUSY', 'SESSION_BUSY'];
  const { call } = await open([], [], {
    retry: { firstDelayMs: 0, maxDelayMs: 0, attempts: 1000 },
    connect: () => {
      throw new ServerError('refused', { status: 503, serverCode: refusals.shift() });
    },
  });
  await call.ended;
  expect(call.snapshot.error).toMatchObject({ serverCode: 'SESSION_BUSY' });
  expect(refusals).toEqual([]);
});

test('a call ends with the reason if the server refuses it, and is not opened again', async () => {
  const { call, connected } = await open([], [], {
    connect: () => new LiveCall({ baseUrl: server?.url ?? '', appName: 'unknown', userId: 'me', sessionId: 'first' }),
  });
  await call.ended;
  expect(call.snapshot).toMatchObject({ status: 'ended', error: { serverCode: 'APP_NOT_FOUND' } });
  expect(connected()).toBe(0);
});

test('a call ends after as many attempts as its options allow', async () => {
  const { call, connected } = await open([[{ heard: 'content' }]]);
  await expect.poll(() => call.snapshot.status).toBe('open');
  await server?.shutDown();
  await call.ended;
  expect(call.snapshot).toMatchObject({ status: 'ended', error: { code: 'CONNECTION_LOST' } });
  // The server that shuts down ends the call with an error after which it is opened again.
  expect(connected()).toBe(3);
});

test('a call that is closed while it is opened again ends without an error', async () => {
  const { call } = await open([[{ heard: 'content' }]], [], { retry: { firstDelayMs: 60_000, maxDelayMs: 60_000 } });
  await expect.poll(() => call.snapshot.status).toBe('open');
  LosableSocket.newest?.lose();
  await expect.poll(() => call.snapshot.status).toBe('reconnecting');
  call.close();
  await call.ended;
  expect(call.snapshot).toMatchObject({ status: 'ended', error: undefined });
});

test.each([
  [[{}, {}], 'AgentCall: connect: expected a function, got undefined; write new AgentCall(session, { connect'],
  [[{}, { connect: String, reconnect: true }], 'AgentCall: has no option "reconnect"'],
  [['first', { connect: String }], 'AgentCall: expected a session, got "first"'],
])('a call refuses %j', (parameters, message) => {
  expect(() => Reflect.construct(AgentCall, parameters)).toThrow(message);
});
