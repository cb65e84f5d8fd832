import { createServer as createHttpServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EventloomClient } from '@eventloom/client';
import { liveEndpoint } from '@eventloom/live/server';
import { createServer, type EventloomServer } from '@eventloom/server';
import { nodeListener, serve } from '@eventloom/server/node';
import { InMemorySessionService, LlmAgent, Runner } from 'eventloom';
import { ScriptedModel } from '@eventloom/testing';
import { serve as serveHono } from '@hono/node-server';
import express from 'express';
import { Hono } from 'hono';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAgents, type FindUser } from './agents.ts';
import { createExpressApp } from './express-app.ts';
import { createHonoApp } from './hono-app.ts';
import { nextHandlers } from './next-route.ts';

/** An application at an address, which has the agents below `/agents`. */
interface Host {
  readonly origin: string;
  readonly close: () => Promise<void>;
}

async function hostOf(http: Server): Promise<Host> {
  if (!http.listening) await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> => {
    http.closeAllConnections();
    return new Promise((resolve) => http.close(() => resolve()));
  };
  return { origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, close };
}

function serveApp(app: Hono): Promise<Host> {
  return new Promise((resolve) => {
    const server = serveHono({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () =>
      resolve(hostOf(server as Server)),
    );
  });
}

/** The ways to have the agents in an application. */
const HOSTS: readonly (readonly [name: string, start: (agents: EventloomServer) => Promise<Host>])[] = [
  ['Hono', (agents) => serveApp(createHonoApp(agents))],
  ['Hono that keeps the path', (agents) => serveApp(new Hono().all('/agents/*', ({ req }) => agents.fetch(req.raw)))],
  ['Express', (agents) => hostOf(createHttpServer(createExpressApp(agents)))],
  [
    'Express that keeps the path',
    (agents) => hostOf(createHttpServer(express().all('/agents/*path', nodeListener(agents)))),
  ],
  [
    'serve alone, behind a proxy that keeps the path',
    async (agents) => {
      const listening = await serve(agents, { port: 0, drainMs: 0 });
      return { origin: listening.url, close: () => listening.shutDown() };
    },
  ],
];

/** Authenticates with a header, in place of the session of an application. */
const findUser: FindUser = async ({ headers }) => {
  const userId = headers.get('x-user');
  return userId === null ? undefined : { userId };
};

const create = (): EventloomServer =>
  createAgents(new ScriptedModel(['Hello.', 'Fine.', 'Good.']), ':memory:', findUser);

const headers = { 'x-user': 'ann' };

describe.each(HOSTS)('agents in an application: %s', (_name, start) => {
  async function open(): Promise<string> {
    const server = create();
    const { origin, close } = await start(server);
    onTestFinished(async () => {
      await server.drain(0);
      await close();
    });
    return origin;
  }

  test('answers below its base path, and its addresses lead back to it', async () => {
    const origin = await open();
    const session = new EventloomClient({ baseUrl: `${origin}/agents`, headers }).session({
      appName: 'help',
      userId: 'ann',
      sessionId: 'é',
    });
    const texts: unknown[] = [];
    for await (const { partial, content } of session.run('Hi')) if (!partial) texts.push(content?.parts?.[0]?.text);
    expect(texts).toEqual(['Hello.']);

    const begun = await fetch(`${origin}/agents/apps/help/users/ann/sessions/%C3%A9/runs`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ newMessage: { parts: [{ text: 'How are you?' }] } }),
    });
    const location = begun.headers.get('location');
    expect([begun.status, location]).toEqual([
      202,
      expect.stringMatching(/^\/agents\/apps\/help\/users\/ann\/sessions\/%C3%A9\/runs\/./),
    ]);
    const followed = await fetch(origin + location, { headers });
    expect([followed.status, await followed.text()]).toEqual([200, expect.stringContaining('Fine.')]);

    const document: unknown = await (await fetch(`${origin}/agents/openapi.json`, { headers })).json();
    expect(document).toMatchObject({ servers: [{ url: '/agents' }], paths: { '/run_sse': {} } });
  });
});

test('handlers of Next.js answer every method', async () => {
  const handlers = nextHandlers(create());
  const url = 'https://shop.example/agents/apps/help/users/ann/sessions/s';
  const statuses: [string, number][] = [];
  for (const [method, body] of [
    ['POST'],
    ['GET'],
    ['PATCH', '{"stateDelta":{"seen":true}}'],
    ['DELETE'],
    ['GET'],
  ] as const) {
    const response = await handlers[method](new Request(url, { method, headers, body: body ?? null }));
    statuses.push([method, response.status]);
  }
  expect(statuses).toEqual([
    ['POST', 200],
    ['GET', 200],
    ['PATCH', 200],
    ['DELETE', 200],
    ['GET', 404],
  ]);
});

test('a listener of Node says that a handler before it has read the body', async () => {
  const server = create();
  const { origin, close } = await hostOf(
    createHttpServer(express().use(express.json()).use('/agents', nodeListener(server))),
  );
  onTestFinished(close);
  const response = await fetch(`${origin}/agents/run`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"appName":"demo"}',
  });
  expect([response.status, await response.json()]).toEqual([
    500,
    { error: expect.stringContaining('before express.json()'), code: 'CONFIGURATION' },
  ]);
});

test.each([
  ['203.0.113.7', 403],
  ['::ffff:127.0.0.1', 200],
])(
  'a listener of a server without authenticate answers a client at %s with %i, whatever host it names',
  async (remoteAddress, status) => {
    const listener = nodeListener(createServer({ runners: [], basePath: '/agents' }));
    const { origin, close } = await hostOf(
      createHttpServer((request, response) => {
        Object.defineProperty(request.socket, 'remoteAddress', { value: remoteAddress });
        listener(request, response);
      }),
    );
    onTestFinished(close);
    expect((await fetch(`${origin}/agents/list-apps`)).status).toBe(status);
  },
);

test('a live run has the base path of its server', async () => {
  const runner = new Runner({
    appName: 'help',
    agent: new LlmAgent({ name: 'helper', model: new ScriptedModel([]) }),
    sessionService: new InMemorySessionService(),
    autoCreateSession: true,
  });
  const server = createServer({
    runners: [runner],
    basePath: '/agents',
    live: liveEndpoint(),
    onError: () => undefined,
  });
  const listening = await serve(server, { port: 0, drainMs: 0 });
  const { url } = listening;
  onTestFinished(() => listening.shutDown());
  const open = async (path: string): Promise<string> => {
    const socket = new WebSocket(`${url.replace('http', 'ws')}${path}?app_name=help&user_id=ann&session_id=s`);
    return new Promise((resolve) => {
      socket.addEventListener('open', () => resolve('open'));
      socket.addEventListener('error', () => resolve('refused'));
      onTestFinished(() => socket.close());
    });
  };
  const paths = ['/agents/run_live', '/run_live', '/others/run_live'];
  expect(await Promise.all(paths.map(open))).toEqual(['open', 'open', 'refused']);
});

test.each(['agents', '/agents/', '/', '/a//b', '/a/../b', '/a b', '//evil.example'])(
  'a server refuses the base path %j',
  (basePath) => {
    expect(() => createServer({ runners: [], basePath })).toThrow(
      /basePath: expected a path that begins with a slash and ends without one/,
    );
  },
);
