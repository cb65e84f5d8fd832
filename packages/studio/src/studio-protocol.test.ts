import { AgentTool, node, Workflow } from '@eventloom/adk';
import { type Content, createEvent, type Event, getFunctionCalls } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { createServer } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool, LongRunningFunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { assetFiles, studio, type StudioFiles } from './index.ts';

const FILES: Readonly<Record<string, string>> = { 'index.html': '<!doctype html>', 'assets/index-1a2b.js': 'start()' };
const files: StudioFiles = (path) => {
  const text = FILES[path];
  return text === undefined ? undefined : new TextEncoder().encode(text);
};

function serve(authenticate?: () => { userId: string } | undefined) {
  const billing = new LlmAgent({ name: 'billing', model: 'gemini-flash-latest', description: 'Knows invoices.' });
  const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({}) });
  const model = new ScriptedModel([], { model: 'scripted' });
  const agent = new LlmAgent({ name: 'helper', model, tools: [look], subAgents: [billing] });
  const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
  const server = createServer({
    runners: [runner],
    protocols: [studio({ files, prompts: { app: ['Look!'] }, prices: { scripted: { input: 1, output: 2 } } })],
    ...(authenticate ? { authenticate } : {}),
  });
  return async (path: string, headers: Record<string, string> = {}): Promise<Response> =>
    server.fetch(new Request(`http://localhost${path}`, { headers }));
}

describe('the page', () => {
  test('is served with a content security policy that allows only its own scripts', async () => {
    const response = await serve()('/studio/index.html');
    expect(await response.text()).toBe('<!doctype html>');
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(policy).toContain("connect-src 'self' ws://localhost wss://localhost;");
    expect(response.headers.get('cache-control')).toBe('no-cache');
  });

  test('is opened by an address without a trailing slash, and keeps the query', async () => {
    const response = await serve()('/studio?app=demo');
    expect(response.status).toBe(302);
    expect(response.headers.get('location')).toBe('studio/?app=demo');
    expect(await (await serve()('/studio/?app=demo')).text()).toBe('<!doctype html>');
  });

  test('is the redirect target for a browser at the root of the server; other clients get JSON', async () => {
    const get = serve();
    const browser = await get('/', { accept: 'text/html,*/*' });
    expect([browser.status, browser.headers.get('location')]).toEqual([302, 'studio/']);
    expect(await (await get('/', { accept: '*/*' })).json()).toMatchObject({ studio: '/studio/' });
  });

  test('has assets that may be cached forever', async () => {
    const response = await serve()('/studio/assets/index-1a2b.js');
    expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(response.headers.get('cache-control')).toContain('immutable');
  });

  test.each([
    '/studio/other.html',
    '/studio/..%2f..%2fpackage.json',
    '/studio/%2e%2e/x.js',
    '/studio/.env',
    '/studio/index',
  ])('has no file %s', async (path) => {
    expect((await serve()(path)).status).toBe(404);
  });

  test('refuses a Worker without the binding of its assets', () => {
    expect(() => assetFiles(undefined as never)).toThrow(/"binding": "ASSETS"/);
  });

  test('is read from a binding of assets on Workers', async () => {
    const asked: string[] = [];
    const read = assetFiles({
      fetch: (address) => {
        asked.push(address);
        return Promise.resolve(
          address.endsWith('index.html') ? new Response('page') : new Response(null, { status: 404 }),
        );
      },
    });
    const found = await read('index.html');
    expect(await new Response(found ?? '').text()).toBe('page');
    expect(await read('other.js')).toBeUndefined();
    expect(asked).toEqual(['https://assets.local/index.html', 'https://assets.local/other.js']);
  });

  test('cannot be served without its files', () => {
    expect(() => studio({} as never)).toThrow('studio: files: expected a function, got nothing; write studio({ files:');
    expect(() => studio({ files: 'dist' } as never)).toThrow('studio: files: expected a function, got a string');
    expect(() => studio(undefined as never)).toThrow(
      'studio: expected an object of options, got nothing; write studio(',
    );
    expect(() => studio('dist' as never)).toThrow('studio: expected an object of options, got a string');
  });

  test('is refused for a misspelt option', () => {
    expect(() => studio({ files, currency: 'dollars' })).toThrow(
      `studio: currency: expected a code of three letters, got "dollars"; write currency: 'EUR'`,
    );
    expect(() => studio({ files, promts: {} } as never)).toThrow(
      'studio: has no option "promts"; did you mean "prompts"?',
    );
    expect(() => studio({ files, prompts: 'Look!' } as never)).toThrow('studio: prompts: expected an object');
  });
});

describe('the agent of an app', () => {
  test('lists the agents in the nodes of a workflow once', async () => {
    const writer = new LlmAgent({ name: 'writer', model: new ScriptedModel([], { model: 'scripted' }) });
    const trim = node((_context: unknown, text: string) => text.trim(), { name: 'trim' });
    const agent = new Workflow({ name: 'flow', edges: [['START', trim, writer]] });
    const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
    const { fetch } = createServer({ runners: [runner], protocols: [studio({ files })] });
    const response = await fetch(new Request('http://localhost/studio-api/apps/app/users/ann/agent'));
    expect(await response.json()).toMatchObject({
      name: 'flow',
      kind: 'Workflow',
      subAgents: [],
      calledAgents: [{ name: 'writer', kind: 'LlmAgent', model: 'scripted', calledAgents: [] }],
    });
  });

  test('is described with each agent once, even if several call it', async () => {
    const calling = (name: string, ...agents: LlmAgent[]): LlmAgent => {
      const callTools = agents.map((each) => new AgentTool({ agent: each }));
      return new LlmAgent({ name, model: 'gemini-flash-latest', tools: callTools });
    };
    const shared = calling('shared', calling('deep'));
    const agent = calling('boss', calling('left', shared), calling('right', shared));
    const runner = new Runner({ appName: 'app', agent, sessionService: new InMemorySessionService() });
    const { fetch } = createServer({ runners: [runner], protocols: [studio({ files })] });
    const response = await fetch(new Request('http://localhost/studio-api/apps/app/users/ann/agent'));
    const body: unknown = await response.json();
    expect(body).toMatchObject({
      calledAgents: [
        { name: 'left', calledAgents: [{ name: 'shared', calledAgents: [{ name: 'deep' }] }] },
        { name: 'right', calledAgents: [{ name: 'shared', calledAgents: [], isRepeated: true }] },
      ],
    });
    expect(JSON.stringify(body).match(/isRepeated/g)).toHaveLength(1);
  });

  test('is described with its model, tools and sub-agents', async () => {
    const response = await serve()('/studio-api/apps/app/users/ann/agent');
    expect(await response.json()).toEqual({
      name: 'helper',
      kind: 'LlmAgent',
      description: '',
      model: 'scripted',
      tools: [{ name: 'look', description: 'Looks.' }],
      subAgents: [
        {
          name: 'billing',
          kind: 'LlmAgent',
          description: 'Knows invoices.',
          model: 'gemini-flash-latest',
          tools: [],
          subAgents: [],
          calledAgents: [],
        },
      ],
      calledAgents: [],
      prompts: ['Look!'],
      prices: { scripted: { input: 1, output: 2 } },
      currency: 'USD',
      canSpeak: false,
    });
  });

  test('is not described to another user', async () => {
    const get = serve(() => ({ userId: 'bob' }));
    expect((await get('/studio-api/apps/app/users/ann/agent')).status).toBe(403);
    expect((await get('/studio-api/apps/app/users/bob/agent')).status).toBe(200);
  });

  test('of an unknown app is 404', async () => {
    expect((await serve()('/studio-api/apps/nope/users/ann/agent')).status).toBe(404);
  });
});

test('the caller is the user that `authenticate` returns, and nobody without it', async () => {
  const caller = async (get: ReturnType<typeof serve>) => (await get('/studio-api/caller')).json();
  expect(await caller(serve(() => ({ userId: 'bob' })))).toEqual({ userId: 'bob' });
  expect(await caller(serve())).toEqual({});
  const refused = await serve(() => undefined)('/studio-api/caller');
  expect(refused.status).toBe(401);
});

test('only the user of a session can read its initial state', async () => {
  const sessionService = new InMemorySessionService();
  const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel(['Hello.']) });
  const runner = new Runner({ appName: 'app', agent, sessionService });
  const server = createServer({
    runners: [runner],
    protocols: [studio({ files })],
    authenticate: ({ headers }) => ({ userId: headers.get('authorization') ?? '' }),
    onError: () => undefined,
  });
  const session = { appName: 'app', userId: 'ann', sessionId: 's' };
  await sessionService.createSession({ ...session, state: { budget: 100, 'user:name': 'Ann' } });
  const newMessage = { parts: [{ text: 'hi' }] };
  await runner.run({ userId: 'ann', sessionId: 's', newMessage, stateDelta: { budget: 90, more: 1 } });
  const read = async (sessionId: string, authorization: string) => {
    const path = `http://localhost/studio-api/apps/app/users/ann/sessions/${sessionId}/initial-state`;
    const response = await server.fetch(new Request(path, { headers: { authorization } }));
    return [response.status, await response.json()];
  };
  expect(await read('s', 'ann')).toEqual([200, { budget: 100 }]);
  expect(await read('s', 'bob')).toMatchObject([403, { code: 'FORBIDDEN' }]);
  expect(await read('none', 'ann')).toMatchObject([404, { code: 'SESSION_NOT_FOUND' }]);
});

describe('the runs that have not ended', () => {
  test('are listed only for their user', async () => {
    const sessionService = new InMemorySessionService();
    const gate = new Gate();
    const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([{ text: 'late', gate }]) });
    const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true });
    const server = createServer({ runners: [runner], protocols: [studio({ files })] });
    const get = async (userId: string): Promise<unknown> =>
      (await server.fetch(new Request(`http://localhost/studio-api/apps/app/users/${userId}/runs`))).json();
    const running = runner.run({
      userId: 'ann',
      sessionId: 's1',
      newMessage: { role: 'user', parts: [{ text: 'Hi' }] },
    });
    await gate.reached;
    expect(await get('ann')).toEqual([
      {
        sessionId: 's1',
        invocationId: expect.any(String) as string,
        isHeld: true,
        resumable: false,
        attempts: 1,
        title: 'Hi',
        startedAt: expect.any(Number) as number,
      },
    ]);
    expect(await get('bob')).toEqual([]);
    gate.open();
    await running;
    expect(await get('ann')).toEqual([]);
  });

  test('are not listed for another user', async () => {
    expect((await serve(() => ({ userId: 'bob' }))('/studio-api/apps/app/users/ann/runs')).status).toBe(403);
  });
});

describe('the runs that wait for an answer', () => {
  interface Listed {
    readonly runs: readonly { readonly sessionId: string; readonly invocationId: string }[];
    readonly nextCursor?: string;
  }

  function serveAsking(steps: readonly ScriptedStep[], resumable = true) {
    const gate = new Gate();
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: true,
      execute: async () => {
        await gate.pass();
        return { paid: true };
      },
    });
    const ask = new FunctionTool({
      name: 'ask',
      description: 'Asks.',
      execute: (_args, context) =>
        context.getInput('size') ?? context.requestInput({ key: 'size', message: 'Which size?' }),
    });
    const print = new LongRunningFunctionTool({ name: 'print', description: 'Prints.', execute: () => undefined });
    const model = new ScriptedModel(steps);
    const agent = new LlmAgent({ name: 'helper', model, tools: [pay, ask, print] });
    const sessionService = new InMemorySessionService();
    const runner = new Runner({ appName: 'app', agent, sessionService, autoCreateSession: true, resumable });
    const server = createServer({ runners: [runner], protocols: [studio({ files })], onError: () => undefined });
    const origin = 'http://localhost/apps/app/users/ann/sessions';
    const send = async (path: string, init?: RequestInit): Promise<unknown> => {
      const response = await server.fetch(new Request(`${origin}/${path}`, init));
      expect(response.ok).toBe(true);
      return response.status === 204 ? undefined : response.json();
    };
    return {
      gate,
      send,
      list: async (userId = 'ann', cursor = '') => {
        const path = `http://localhost/studio-api/apps/app/users/${userId}/waiting-runs?${cursor && `cursor=${cursor}`}`;
        return (await (await server.fetch(new Request(path))).json()) as Listed;
      },
      say: (sessionId: string, newMessage: Content = { role: 'user', parts: [{ text: 'Pay' }] }) =>
        runner.run({ userId: 'ann', sessionId, newMessage }),
    };
  }

  test.each([true, false])('are listed with their calls for their user (resumable: %s)', async (resumable) => {
    const { list, say } = serveAsking([{ calls: [{ name: 'pay' }, { name: 'ask' }, { name: 'print' }] }], resumable);
    const [first] = await say('s1');
    expect(await list()).toEqual({
      runs: [
        {
          sessionId: 's1',
          invocationId: first?.invocationId,
          title: 'Pay',
          waitsSince: expect.any(Number) as number,
          waitingFor: [
            { kind: 'call', toolName: 'print' },
            { kind: 'confirmation', toolName: 'pay', message: 'Please approve or reject the call of pay.' },
            { kind: 'input', toolName: 'ask', message: 'Which size?' },
          ],
        },
      ],
    });
    expect(await list('bob')).toEqual({ runs: [] });
  });

  const waiting = { calls: [{ name: 'pay' }] };
  const idsOf = ({ runs }: Listed): string[] => runs.map(({ sessionId }) => sessionId).toSorted();

  const approvalOf = (events: readonly Event[]): Content => {
    const { id = '', name = '' } = events.flatMap((event) => getFunctionCalls(event)).at(-1) ?? {};
    return { role: 'user', parts: [{ functionResponse: { id, name, response: { confirmed: true } } }] };
  };

  test('are not listed while an answer to one of their calls is in progress', async () => {
    const { gate, list, say } = serveAsking([{ calls: [{ name: 'pay' }, { name: 'pay' }] }]);
    const approving = say('s', approvalOf(await say('s')));
    await gate.reached;
    expect(idsOf(await list())).toEqual([]);
    gate.open();
    await approving;
    expect(await list()).toMatchObject({ runs: [{ sessionId: 's', waitingFor: [{ kind: 'confirmation' }] }] });
  });

  test('are not listed any more once they are answered or cancelled', async () => {
    const { gate, list, say, send } = serveAsking([waiting, waiting, waiting, { text: 'Paid.' }]);
    gate.open();
    const answered = await say('answered');
    const [cancelled] = await say('cancelled');
    await say('open');
    expect(idsOf(await list())).toEqual(['answered', 'cancelled', 'open']);
    await say('answered', approvalOf(answered));
    await send(`cancelled/runs/${cancelled?.invocationId}`, { method: 'DELETE' });
    expect(idsOf(await list())).toEqual(['open']);
  });

  test('are listed in a fork of their session, and not after the session was deleted', async () => {
    const { list, say, send } = serveAsking([waiting]);
    const afterEventId = (await say('s')).at(-1)?.id;
    await send('s/fork', { method: 'POST', body: JSON.stringify({ afterEventId, sessionId: 'fork' }) });
    expect(idsOf(await list())).toEqual(['fork', 's']);
    await send('s', { method: 'DELETE' });
    expect(idsOf(await list())).toEqual(['fork']);
  });

  test('are listed in pages of sessions', async () => {
    const sessionIds = Array.from({ length: 51 }, (_, index) => `s${index}`);
    const { list, say } = serveAsking(sessionIds.map(() => waiting));
    for (const sessionId of sessionIds) await say(sessionId);
    const page = await list();
    const next = await list('ann', page.nextCursor);
    expect([page.runs.length, next.runs.length, next.nextCursor]).toEqual([50, 1, undefined]);
    expect([...idsOf(page), ...idsOf(next)].toSorted()).toEqual(sessionIds.toSorted());
  });

  test('are not listed for another user', async () => {
    const get = serve(() => ({ userId: 'bob' }));
    expect((await get('/studio-api/apps/app/users/ann/waiting-runs')).status).toBe(403);
  });
});

describe('the list of sessions', () => {
  const said = (author: string, text: string) => ({ author, content: { parts: [{ text }] } });
  const called = { author: 'helper', content: { parts: [{ functionCall: { name: 'look', args: { city: 'Rome' } } }] } };
  const path = '/studio-api/apps/app/users/ann/sessions';
  type Listed = { sessions: { id: string; title?: string; found?: string }[]; nextCursor?: string };

  async function filled() {
    const sessionService = new InMemorySessionService({ platform: fixedPlatform() });
    const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([]) });
    const server = createServer({
      runners: [new Runner({ appName: 'app', agent, sessionService })],
      protocols: [studio({ files })],
      authenticate: (request: Request) => ({ userId: request.headers.get('x-user') ?? 'ann' }),
      trustImportedEvents: true,
    });
    const create = async (userId: string, sessionId: string, events: readonly object[]): Promise<void> => {
      const init = { method: 'POST', headers: { 'x-user': userId }, body: JSON.stringify({ sessionId, events }) };
      const created = await server.fetch(new Request(`http://localhost/apps/app/users/${userId}/sessions`, init));
      expect(created.status).toBe(200);
    };
    await create('ann', 'a1', [said('user', 'What is the weather?'), called, said('helper', 'It is sunny.')]);
    await create('ann', 'b2', [said('user', 'Refund order 42'), said('helper', 'Done.')]);
    await create('ann', 'd4', [said('helper', `${'İ'.repeat(60)} needle and more`)]);
    await create('ann', 'e5', [said('helper', `q ${'w'.repeat(150)} q`)]);
    await create('ann', 'f6', [said('helper', `${'😀'.repeat(30)}.apple${'😀'.repeat(60)}`)]);
    await create('bob', 'c3', [said('user', 'A secret of Bob')]);
    return async (query: string): Promise<Response> => server.fetch(new Request(`http://localhost${path}${query}`));
  }

  test('has the first message of each session of the user', async () => {
    const get = await filled();
    const { sessions } = (await (await get('')).json()) as Listed;
    expect(Object.fromEntries(sessions.map(({ id, title }) => [id, title]))).toEqual({
      a1: 'What is the weather?',
      b2: 'Refund order 42',
    });
  });

  test.each([
    ['B2', ['b2'], undefined],
    ['REFUND', ['b2'], undefined],
    ['sunny', ['a1'], 'It is sunny.'],
    ['rome', ['a1'], 'look {"city":"Rome"}'],
    [new Date(fixedPlatform().now()).toISOString().slice(0, 10), ['a1', 'b2', 'd4', 'e5', 'f6'], undefined],
    ['needle', ['d4'], `${'İ'.repeat(11)} needle and more`],
    ['w'.repeat(100), ['e5'], `q ${'w'.repeat(100)}`],
    ['apple', ['f6'], `${'😀'.repeat(5)}.apple${'😀'.repeat(31)}`],
    ['secret', [], undefined],
  ])('finds %s in ids, messages, calls and days, and not in sessions of others', async (word, ids, found) => {
    const { sessions } = (await (await (await filled())(`?search=${word}`)).json()) as Listed;
    expect(sessions.map(({ id }) => id).toSorted()).toEqual(ids);
    expect(sessions[0]?.found).toBe(found);
  });

  test.each([
    ['after the rewind', 0],
    ['after many others', 60],
  ])('has the message %s that replaced a rewound first one', async (_place, others) => {
    const sessionService = new InMemorySessionService();
    const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([]) });
    const server = createServer({
      runners: [new Runner({ appName: 'app', agent, sessionService })],
      protocols: [studio({ files })],
    });
    const session = await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const add = async (invocationId: string, event: object): Promise<void> => {
      await sessionService.appendEvent({ session, event: createEvent({ author: 'user', invocationId, ...event }) });
    };
    await add('e-1', said('user', 'first try'));
    for (let index = 0; index < others; index++) await add(`e-1${index}`, said('helper', 'Hm.'));
    const actions = { stateDelta: {}, artifactDelta: {}, rewindBeforeInvocationId: 'e-1' };
    await add('e-2', { actions });
    await add('e-3', said('user', 'second try'));
    const response = await server.fetch(new Request(`http://localhost${path}`));
    expect(((await response.json()) as Listed).sessions[0]?.title).toBe('second try');
  });

  test("has the user's first words in a call", async () => {
    const sessionService = new InMemorySessionService();
    const agent = new LlmAgent({ name: 'helper', model: new ScriptedModel([]) });
    const server = createServer({
      runners: [new Runner({ appName: 'app', agent, sessionService })],
      protocols: [studio({ files })],
    });
    const session = await sessionService.createSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    const inputTranscription = { text: 'What color?', finished: true };
    const event = createEvent({ author: 'user', invocationId: 'e-1', inputTranscription });
    await sessionService.appendEvent({ session, event });
    const response = await server.fetch(new Request(`http://localhost${path}`));
    expect(((await response.json()) as Listed).sessions[0]?.title).toBe('What color?');
  });

  test('is refused for another user, and for a text that is too long', async () => {
    const get = await filled();
    expect((await get(`?search=${'x'.repeat(201)}`)).status).toBe(400);
    expect((await get('/../../bob/sessions')).status).toBe(403);
  });
});
