import { Gate, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { createServer } from '../create-server.ts';
import type { RunItem } from '../http/hosted-run.ts';
import type { CommonRequest, Protocol, ProtocolRequest, ProtocolRoute } from '../protocol.ts';
import type { ServerOptions } from '../server-options.ts';
import { serverScenario } from '../fixtures/server-scenario.ts';

const OWNER = '/p/{appName}/{userId}';

/** A protocol whose routes start, follow, cancel and collect runs. */
function testProtocol(more: Partial<Protocol> = {}): Protocol {
  const shared = { method: 'post', summary: '', bodySchema: { type: 'object' }, response: { schema: {} } } as const;
  const keyOf = (request: ProtocolRequest) => ({
    appName: request.param('appName'),
    userId: request.param('userId'),
    sessionId: 's',
  });
  const writer = {
    item: ({ id, event, error }: RunItem) =>
      `data: ${id ?? '-'} ${error?.code ?? event?.content?.parts?.map(({ text }) => text).join('')}\n\n`,
    end: 'data: end\n\n',
  };
  const start = async (request: ProtocolRequest) => {
    const { text } = (await request.json()) as { readonly text: string };
    return request.startRun({ ...keyOf(request), newMessage: { parts: [{ text }] }, streaming: true });
  };
  const routes: ProtocolRoute[] = [
    { ...shared, path: OWNER, operationId: 'begin', handle: async (request) => (await start(request)).sse(writer) },
    {
      ...shared,
      path: `${OWNER}/items`,
      operationId: 'collect',
      async handle(request) {
        const items: RunItem[] = [];
        for await (const item of (await start(request)).items()) items.push(item);
        return Response.json(items);
      },
    },
    {
      ...shared,
      method: 'get',
      path: `${OWNER}/runs/{id}`,
      operationId: 'readOn',
      handle: (request) =>
        request
          .followRun({ ...keyOf(request), invocationId: request.param('id'), lastEventId: request.query('after') })
          .sse(writer),
    },
    {
      ...shared,
      method: 'delete',
      path: `${OWNER}/runs/{id}`,
      operationId: 'end',
      async handle(request) {
        await request.cancelRun({ ...keyOf(request), invocationId: request.param('id') });
        return Response.json(null);
      },
    },
    {
      ...shared,
      method: 'get',
      path: `${OWNER}/history`,
      operationId: 'history',
      async handle(request) {
        request.requireSameUser(request.param('userId'));
        const session = await request.sessions(request.param('appName')).getSession(keyOf(request));
        return Response.json({ events: session?.events.length, artifacts: request.artifacts('app') ?? null });
      },
    },
  ];
  return { name: 'test', routes, ...more };
}

async function setUp(steps: readonly ScriptedStep[], options: Partial<ServerOptions> = {}) {
  const { server, send, sessionService } = await serverScenario({ steps, protocols: [testProtocol()], ...options });
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const response = await send(method, path, body, headers);
    return {
      status: response.status,
      text: await response.text(),
      id: response.headers.get('eventloom-invocation-id'),
    };
  };
  return { server, ask, sessionService };
}

const say = { text: 'hi' };
const CHUNKS: ScriptedStep = { chunks: ['one ', 'two'] };

describe('a custom protocol', () => {
  test('streams a run in its own format, and continues after each item', async () => {
    const { ask } = await setUp([CHUNKS]);
    const { text, id } = await ask('POST', '/p/app/ann', say);
    const blocks = text.split('\n\n').filter((block) => block !== '');
    expect(blocks.map((block) => block.replace(/^data: [\d.]+ /, ''))).toEqual(['one ', 'two', 'one two', 'data: end']);
    const ids = blocks.slice(0, -1).map((block) => /^data: ([\d.]+) /.exec(block)?.[1]);
    for (const [index, after] of ids.entries()) {
      const rest = await ask('GET', `/p/app/ann/runs/${id}?after=${after}`);
      expect(rest.text.split('\n\n').slice(0, -1)).toEqual(index === ids.length - 1 ? [] : blocks.slice(index + 1));
      expect(rest.status).toBe(index === ids.length - 1 ? 204 : 200);
    }
  });

  test('collects the items of a run, with its failure as the last one', async () => {
    const { ask } = await setUp([CHUNKS, new Error('broken')]);
    const items = JSON.parse((await ask('POST', '/p/app/ann/items', say)).text) as RunItem[];
    expect(items.map(({ event }) => event?.content?.parts?.[0]?.text)).toEqual(['one ', 'two', 'one two']);
    expect(items.every(({ id }) => id !== undefined)).toBe(true);
    const failed = JSON.parse((await ask('POST', '/p/app/ann/items', say)).text) as RunItem[];
    expect(failed.at(-1)).toMatchObject({ error: { code: 'MODEL_ERROR' } });
  });

  test('cancels a run in flight, which the ADK routes can follow', async () => {
    const gate = new Gate();
    const { ask, server } = await setUp([{ gate, text: 'late' }], { limits: { respondAfterMs: 0 } });
    const init = { method: 'POST', body: JSON.stringify(say) };
    const streaming = await server.fetch(new Request('http://localhost/p/app/ann', init));
    await gate.reached;
    const id = streaming.headers.get('eventloom-invocation-id');
    expect((await ask('DELETE', `/p/app/ann/runs/${id}`)).status).toBe(200);
    expect(await streaming.text()).toContain('RUN_ABORTED');
    expect((await ask('GET', `/apps/app/users/ann/sessions/s/runs/${id}`)).text).toContain('RUN_ABORTED');
    expect((await ask('DELETE', '/p/app/ann/runs/none')).status).toBe(404);
  });

  test.each([undefined, 'a text', { status: 200 }, null])(
    'is answered with 500 and reported if a route returns %j instead of a response',
    async (returned) => {
      const reported: unknown[] = [];
      const handle = (): never => returned as never;
      const odd = { method: 'get', summary: '', response: { schema: {} }, handle } as const;
      const routes = [{ ...odd, path: OWNER, operationId: 'odd' }];
      const commonRoutes = [{ ...odd, path: '/common', operationId: 'common' }];
      const protocols = [{ name: 'odd', routes, commonRoutes }];
      const { ask } = await setUp([], { protocols, onError: (error) => void reported.push(error) });
      for (const path of ['/p/app/ann', '/common']) {
        const { status, text } = await ask('GET', path);
        expect([status, JSON.parse(text)]).toEqual([
          500,
          { error: expect.stringContaining('expected a Response'), code: 'CONFIGURATION' },
        ]);
      }
      expect(reported).toHaveLength(2);
    },
  );

  test('is not called for a request that names another user, an invalid one or an unknown app', async () => {
    const handle = () => expect.unreachable();
    const shared = { method: 'get', summary: '', response: { schema: {} }, handle } as const;
    const protocol: Protocol = {
      name: 'naive',
      routes: [
        { ...shared, path: '/q/{appName}/{userId}', operationId: 'inPath' },
        { ...shared, path: '/q/{appName}/{userId}/of/{sessionId}', operationId: 'inSession' },
        {
          ...shared,
          path: '/q',
          operationId: 'inQuery',
          owner: (request) => ({ appName: request.query('app') ?? '', userId: request.query('user') ?? '' }),
        },
      ],
    };
    const authenticate = () => ({ userId: 'mallory' });
    const { ask } = await setUp([], { authenticate, protocols: [protocol] });
    const answers = [
      ['/q/app/ann', 403],
      ['/q?app=app&user=ann', 403],
      ['/q?app=app', 400],
      ['/q/none/mallory', 404],
      ['/q?app=none&user=mallory', 404],
      ['/q/app/mallory/of/%00', 400],
    ] as const;
    for (const [path, status] of answers) expect([path, (await ask('GET', path)).status]).toEqual([path, status]);
  });

  test('whose owner returns no user and app is answered with 500, and the error names the route', async () => {
    const route = { method: 'get', path: '/q', operationId: 'q', summary: '', response: { schema: {} } } as const;
    const owner = (() => undefined) as unknown as NonNullable<ProtocolRoute['owner']>;
    const errors: unknown[] = [];
    const { ask } = await setUp([], {
      protocols: [{ name: 'p', routes: [{ ...route, owner, handle: () => expect.unreachable() }] }],
      onError: (error) => errors.push(error),
    });
    expect(await ask('GET', '/q')).toMatchObject({
      status: 500,
      text: expect.stringContaining('"code":"CONFIGURATION"'),
    });
    expect(String(errors)).toContain('/q: owner: expected { appName, userId } with two strings, got nothing');
  });

  test.each([
    ['returns no text', { item: () => ({ data: 1 }) }, 'RunWriter: item: expected a text, got an object', "return ''"],
    ['is missing', undefined, 'HostedRun.sse: expected a writer, got nothing', 'write run.sse({ item:'],
    ['is only a function', () => '', 'HostedRun.sse: expected a writer, got a function', 'write run.sse({ item:'],
  ])('whose writer %s is reported by name, and the run is stored', async (_what, writer, fault, advice) => {
    const errors: unknown[] = [];
    const route = {
      method: 'post',
      path: OWNER,
      operationId: 'q',
      summary: '',
      bodySchema: {},
      response: { schema: {} },
    } as const;
    const handle = async (request: ProtocolRequest) => {
      const key = { appName: 'app', userId: 'ann', sessionId: 's' };
      return (await request.startRun({ ...key, newMessage: { parts: [{ text: 'hi' }] } })).sse(writer as never);
    };
    const { server, sessionService } = await setUp([CHUNKS], {
      protocols: [{ name: 'p', routes: [{ ...route, handle }] }],
      onError: (error) => errors.push(error),
    });
    const init = { method: 'POST', body: '{}' };
    const response = await server.fetch(new Request('http://localhost/p/app/ann', init));
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      code: 'CONFIGURATION',
      error: expect.stringContaining(fault),
    });
    await server.whenIdle();
    expect(String(errors)).toContain(advice);
    const session = await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' });
    expect(session?.events.map(({ author, error }) => [author, error])).toEqual([
      ['user', undefined],
      ['agent', undefined],
    ]);
  });

  test('whose writer throws at the first item of a run in progress answers with the status of the error', async () => {
    const errors: unknown[] = [];
    const gates = [new Gate(), new Gate()];
    const thrown = new RangeError('the password is 1234');
    const writers = {
      throws: () => {
        throw thrown;
      },
      number: () => 1,
    };
    const routes = Object.entries(writers).map(([name, item]) => ({
      method: 'post' as const,
      path: `/${name}/{appName}/{userId}`,
      operationId: name,
      summary: '',
      response: { schema: {} },
      async handle(request: ProtocolRequest) {
        const key = { appName: 'app', userId: 'ann', sessionId: 's' };
        const run = await request.startRun({ ...key, newMessage: { parts: [{ text: 'hi' }] }, streaming: true });
        return run.sse({ item: item as () => string });
      },
    }));
    const steps = gates.map((gate) => ({ chunks: ['so ', gate, 'far'] }));
    const { server } = await setUp(steps, {
      protocols: [{ name: 'p', routes }],
      onError: (error) => errors.push(error),
    });
    const codes: unknown[] = [];
    for (const [index, name] of Object.keys(writers).entries()) {
      const init = { method: 'POST', body: '{}' };
      const response = await server.fetch(new Request(`http://localhost/${name}/app/ann`, init));
      codes.push(response.status, ((await response.json()) as { readonly code: unknown }).code);
      gates[index]?.open();
      await server.whenIdle();
    }
    expect(codes).toEqual([500, 'INTERNAL', 500, 'CONFIGURATION']);
    expect(errors).toEqual([thrown, expect.objectContaining({ code: 'CONFIGURATION' })]);
  });

  test("reports the failure of its own stream, and does not send the error's text to the client", async () => {
    const reported: unknown[] = [];
    const encoder = new TextEncoder();
    let pulls = 0;
    let left: unknown;
    const streams: Record<string, UnderlyingDefaultSource<Uint8Array<ArrayBuffer>>> = {
      fails: {
        pull(controller) {
          if (pulls++ > 0) throw new Error('the password is 1234');
          controller.enqueue(encoder.encode('one'));
        },
      },
      ends: {
        start(controller) {
          controller.enqueue(encoder.encode('one'));
          controller.close();
        },
      },
      waits: { pull: () => new Promise<void>(() => undefined), cancel: (reason) => void (left = reason) },
    };
    const read = new Response('one');
    await read.text();
    const commonRoutes = [
      ...Object.entries(streams).map(
        ([name, source]) =>
          [name, () => new Response(new ReadableStream(source), { headers: { 'x-own': name } })] as const,
      ),
      ['read', () => read] as const,
      ['error', () => Response.error()] as const,
      ['rejects', () => Promise.reject(null)] as const,
    ].map(([name, handle]) => ({
      method: 'get' as const,
      path: `/${name}`,
      operationId: name,
      summary: '',
      response: { contentType: 'text/plain' },
      handle,
    }));
    const { server, ask } = await setUp([], {
      protocols: [{ name: 'p', routes: [], commonRoutes }],
      onError: (error) => reported.push(String(error)),
      limits: { respondAfterMs: 0 },
    });
    const get = async (path: string) => server.fetch(new Request(`http://localhost${path}`));
    await expect((await get('/fails')).text()).rejects.toThrow('the server failed to answer; its log says why');
    expect(reported.splice(0)).toEqual(['Error: the password is 1234']);
    const whole = await get('/ends');
    expect([whole.headers.get('x-own'), await whole.text()]).toEqual(['ends', 'one']);
    const reader = (await get('/waits')).body?.getReader();
    const waiting = reader?.read();
    await reader?.cancel('gone');
    expect([await waiting, left]).toEqual([{ done: true, value: undefined }, 'gone']);
    expect(await ask('GET', '/read')).toMatchObject({ status: 500, text: expect.stringContaining('was read already') });
    expect(await ask('GET', '/error')).toMatchObject({
      status: 500,
      text: expect.stringContaining('that of an error'),
    });
    expect(reported.splice(0)).toHaveLength(2);
    const { status, text } = await ask('GET', '/rejects');
    expect([status, JSON.parse(text)]).toEqual([500, expect.objectContaining({ code: 'INTERNAL' })]);
    expect(reported).toEqual(['Error: null']);
  });

  /** Returns the answers of routes to GET, as `status code`, and what the server reported. */
  async function answersOf(handlers: Readonly<Record<string, () => Response | Promise<Response>>>, method = 'GET') {
    const reported: string[] = [];
    const shared = { method: 'get', summary: '', response: { contentType: 'text/plain' } } as const;
    const commonRoutes = Object.entries(handlers).map(([name, handle]) => {
      return { ...shared, path: `/${name}`, operationId: name, handle };
    });
    const { ask } = await setUp([], {
      protocols: [{ name: 'p', routes: [], commonRoutes }],
      onError: (error) => reported.push(String(error)),
      limits: { respondAfterMs: 0 },
    });
    const answers: Record<string, string> = {};
    for (const name of Object.keys(handlers)) {
      const { status, text } = await ask(method, `/${name}`);
      answers[name] = `${status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? text}`;
    }
    return { answers, reported };
  }

  test('is answered with the status of its error if its body fails before the first bytes', async () => {
    const failing = (type: string) => () =>
      new Response(new ReadableStream({ pull: () => Promise.reject(new Error('the password is 1234')) }), {
        headers: { 'content-type': type },
      });
    const json = Response.json({});
    await json.text();
    const { answers, reported } = await answersOf({
      text: failing('text/plain'),
      json: failing('application/json'),
      read: () => json,
    });
    expect(answers).toEqual({ text: '500 INTERNAL', json: '500 INTERNAL', read: '500 CONFIGURATION' });
    expect(reported).toEqual([
      'Error: the password is 1234',
      'Error: the password is 1234',
      expect.stringContaining('/read: handle: the body of its Response was read already'),
    ]);
  });

  test('is answered with 500 and not with a body of another length than its response announces', async () => {
    const announcing = (body: string | null, length: string) => () =>
      new Response(body, { headers: { 'content-length': length } });
    const handlers = {
      short: announcing('12345', '100'),
      long: announcing('12345', '2'),
      json: () => Response.json({}, { headers: { 'content-length': '9' } }),
      none: announcing(null, '9'),
      word: announcing('12345', 'x'),
      right: announcing('12345', '5'),
    };
    const { answers, reported } = await answersOf(handlers);
    const wrong = '500 CONFIGURATION';
    expect(answers).toEqual({ short: wrong, long: wrong, json: wrong, none: wrong, word: wrong, right: '200 12345' });
    expect(reported).toHaveLength(5);
    expect(reported[0]).toContain('/short: handle: its Response has the header content-length: "100", and 5 bytes;');
    // The answer to HEAD has the length of another one.
    expect((await answersOf({ none: handlers.none }, 'HEAD')).answers).toEqual({ none: '200 ' });
  });

  test('aborts a body with another length, and cancels its source', async () => {
    const reported: string[] = [];
    let left: unknown;
    let pulls = 0;
    const source: UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> = {
      pull(controller) {
        if (++pulls > 9) controller.close();
        else controller.enqueue(new Uint8Array(2));
      },
      cancel: (reason) => void (left = reason),
    };
    const handle = () =>
      new Response(new ReadableStream(source, { highWaterMark: 0 }), { headers: { 'content-length': '7' } });
    const route = { method: 'get', path: '/long', operationId: 'long', summary: '', response: { schema: {} } } as const;
    const { server } = await setUp([], {
      protocols: [{ name: 'p', routes: [], commonRoutes: [{ ...route, handle }] }],
      onError: (error) => reported.push(String(error)),
    });
    const answer = await server.fetch(new Request('http://localhost/long'));
    await expect(answer.text()).rejects.toThrow('the server failed to answer; its log says why');
    expect(reported).toEqual([expect.stringContaining('and 8 bytes or more; leave the header out')]);
    expect(String(left)).toContain('/long');
  });

  test("acts only for the authenticated user, within that user's limits", async () => {
    const authenticate = (request: Request) => {
      const userId = request.headers.get('authorization');
      return userId === null ? undefined : { userId };
    };
    const { ask, sessionService } = await setUp([CHUNKS], { authenticate, limits: { maxRunsPerUser: 0 } });
    for (const path of ['/p/app/ann', '/p/app/ann/items']) {
      expect((await ask('POST', path, say)).status).toBe(401);
      expect((await ask('POST', path, say, { authorization: 'bob' })).status).toBe(403);
      expect((await ask('POST', path, say, { authorization: 'ann' })).status).toBe(429);
    }
    for (const method of ['GET', 'DELETE']) {
      expect((await ask(method, '/p/app/ann/runs/x', undefined, { authorization: 'bob' })).status).toBe(403);
    }
    expect((await ask('GET', '/p/app/ann/history', undefined, { authorization: 'bob' })).status).toBe(403);
    expect((await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' }))?.events).toEqual([]);
  });

  test('that starts its run after its first bytes counts the run for the user until the run and the answer have ended', async () => {
    let refused: unknown;
    let { promise: answered, resolve } = Promise.withResolvers<void>();
    const streamed = (work: (request: ProtocolRequest) => Promise<unknown>) => (request: ProtocolRequest) =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode(':'));
            await answered;
            await work(request).catch((error: unknown) => (refused = error));
            controller.close();
          },
        }),
      );
    const [route] = testProtocol().routes;
    if (!route) throw new Error('the protocol has no route');
    const begin = (request: ProtocolRequest, sessionId: string) =>
      request.startRun({ appName: 'app', userId: 'ann', sessionId, newMessage: { parts: [{ text: 'hi' }] } });
    const protocol: Protocol = {
      name: 'late',
      routes: [
        { ...route, path: `${OWNER}/run`, operationId: 'lateRun', handle: streamed((request) => begin(request, 's')) },
        { ...route, path: `${OWNER}/failed`, operationId: 'failed', handle: streamed((request) => begin(request, '')) },
        { ...route, path: `${OWNER}/body`, operationId: 'lateBody', handle: streamed((request) => request.json()) },
      ],
    };
    const limits = { maxRunsPerUser: 1, maxBodyBytesInFlightPerUser: 100, respondAfterMs: 0 };
    const steps = Array.from({ length: 3 }, () => 'done');
    const { server } = await setUp(steps, { protocols: [protocol, testProtocol()], limits });
    const ask = async (path: string, body: unknown) => {
      ({ promise: answered, resolve } = Promise.withResolvers<void>());
      const init = { method: 'POST', body: JSON.stringify(body) };
      const response = await server.fetch(new Request(`http://localhost/p/app/ann/${path}`, init));
      resolve();
      await response.text();
    };
    for (let count = 0; count < 3; count++) {
      refused = undefined;
      await ask('run', say);
      await ask('body', { text: 'x'.repeat(60) });
      expect(refused).toBeUndefined();
      await ask('failed', say);
      expect(refused).toMatchObject({ code: 'INVALID_REQUEST' });
      await expect.poll(() => server.runsInFlight).toBe(0);
    }
  });

  test('gets a rejection from bytes and json once the request is answered', async () => {
    let kept: ProtocolRequest | undefined;
    const [route] = testProtocol().routes;
    if (!route) throw new Error('the protocol has no route');
    const handle = (request: ProtocolRequest) => {
      kept = request;
      return new Response('done');
    };
    const { ask } = await setUp([], { protocols: [{ name: 'keeping', routes: [{ ...route, handle }] }] });
    expect((await ask('POST', '/p/app/ann', say)).text).toBe('done');
    for (const read of ['bytes', 'json'] as const) {
      const reading = kept?.[read]();
      await expect(reading).rejects.toThrow('bytes: the request was answered; read its body before the answer ends');
    }
  });

  test('refuses invalid requests like the ADK routes, and changes nothing', async () => {
    const { ask, sessionService } = await setUp([]);
    expect((await ask('POST', '/p/none/ann', say)).status).toBe(404);
    expect((await ask('POST', '/p/app/ann', { text: 7 })).status).toBe(400);
    expect((await ask('GET', '/p/app/ann/runs/none')).status).toBe(404);
    expect((await ask('GET', '/p/app/ann/runs/none?after=x')).status).toBe(400);
    expect((await ask('POST', '/p/app/ann', say, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await sessionService.getSession({ appName: 'app', userId: 'ann', sessionId: 's' }))?.events).toEqual([]);
  });

  test('is described in the OpenAPI document, and starts no run once the server is drained', async () => {
    const { ask, server } = await setUp([]);
    const document = JSON.parse((await ask('GET', '/openapi.json')).text) as { paths: Record<string, object> };
    expect(document.paths[OWNER]).toMatchObject({ post: { operationId: 'begin', requestBody: { required: true } } });
    await server.drain(0);
    expect(JSON.parse((await ask('POST', '/p/app/ann', say)).text)).toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  test('refuses the methods of a user in routes without a user and in owner, with what to write', async () => {
    const errors: string[] = [];
    const spec = { method: 'post', summary: '', bodySchema: {}, response: { schema: {} } } as const;
    const key = { appName: 'app', userId: 'ann', sessionId: 's' };
    const methods = [
      'startRun',
      'followRun',
      'cancelRun',
      'runState',
      'requireSameUser',
      'agent',
      'sessions',
      'artifacts',
    ];
    // Programs in JavaScript can call what the types of their requests do not have.
    const call = (request: object, method: string): unknown =>
      (Reflect.get(request, method) as (...values: unknown[]) => unknown)({
        ...key,
        newMessage: { parts: [{ text: 'hi' }] },
      });
    const commonRoutes = methods.map((method) => ({
      ...spec,
      path: `/common/${method}`,
      operationId: `common_${method}`,
      isPublic: true,
      handle: async (request: CommonRequest) => Response.json(await call(request, method)),
    }));
    const owned = {
      ...spec,
      path: '/owned',
      operationId: 'owned',
      owner: async (request: CommonRequest) => {
        await call(request, 'startRun');
        return key;
      },
      handle: () => new Response('owned'),
    };
    const { ask, sessionService } = await setUp([CHUNKS], {
      protocols: [{ name: 'p', routes: [owned], commonRoutes }],
      authenticate: () => ({ userId: 'ann' }),
      onError: (error) => errors.push(String(error)),
    });
    for (const method of methods)
      expect(await ask('POST', `/common/${method}`, {})).toMatchObject({
        status: 500,
        text: expect.stringContaining('CONFIGURATION'),
      });
    expect(errors.splice(0)).toEqual(
      methods.map((method) =>
        expect.stringContaining(
          `/common/${method}: ${method}: the request has no user here; call it in handle of a route in routes`,
        ),
      ),
    );
    expect((await ask('POST', '/owned', {})).status).toBe(500);
    expect(errors).toEqual([expect.stringContaining('/owned: startRun: the request has no user here')]);
    expect((await sessionService.getSession(key))?.events).toEqual([]);
  });

  test('answers routes without a user, public ones without authentication, and paths with several segments', async () => {
    const page = { method: 'get', summary: '', response: { contentType: 'text/plain' } } as const;
    const commonRoutes = [
      {
        ...page,
        path: '/files/{path+}',
        operationId: 'file',
        handle: (request: { param(name: string): string }) => new Response(request.param('path')),
      },
      { ...page, path: '/card', operationId: 'card', isPublic: true, handle: () => new Response('card') },
    ];
    const protocols = [testProtocol({ commonRoutes })];
    const { ask } = await setUp([], { protocols, authenticate: () => undefined });
    expect((await ask('GET', '/card')).text).toBe('card');
    expect((await ask('GET', '/files/a/b.js')).status).toBe(401);
    const open = await setUp([], { protocols });
    expect((await open.ask('GET', '/files/a/b.js')).text).toBe('a/b.js');
    // OpenAPI has no parameters of several segments.
    const { paths } = JSON.parse((await open.ask('GET', '/openapi.json')).text) as { paths: object };
    expect(Object.keys(paths).filter((path) => path.startsWith('/files'))).toEqual(['/files/{path}']);
  });
});

test('a public route does not exempt other methods of its path from the host check', async () => {
  const shared = { path: '/card', summary: '', response: { contentType: 'text/plain' } };
  const card = {
    ...shared,
    method: 'get',
    operationId: 'card',
    isPublic: true,
    handle: () => new Response('card'),
  } as const;
  const handle = (): Response => new Response('done');
  const routes = [
    { ...shared, method: 'post', operationId: 'change', owner: () => ({ appName: 'app', userId: 'ann' }), handle },
  ] as const;
  const { server } = await setUp([], { protocols: [{ name: 'cards', routes, commonRoutes: [card] }] });
  const status = async (method: string) =>
    (await server.fetch(new Request('http://evil.example/card', { method }))).status;
  expect([await status('GET'), await status('HEAD'), await status('POST')]).toEqual([200, 200, 403]);
});

test('a protocol with a path of several segments replaces no other route', async () => {
  const rest = {
    method: 'get',
    path: '/{path+}',
    operationId: 'rest',
    summary: '',
    response: { contentType: 'text/plain' },
    handle: (request: { param(name: string): string }) => new Response(`rest: ${request.param('path')}`),
  } as const;
  const owned = {
    ...rest,
    operationId: 'owned',
    path: '/owned/{path+}',
    owner: () => ({ appName: 'app', userId: 'ann' }),
  };
  const protocols = [{ name: 'rest', routes: [owned], commonRoutes: [rest] }];
  const { ask } = await setUp([], { protocols });
  for (const path of ['/openapi.json', '/health', '/list-apps', '/apps/app/users/ann/sessions'])
    expect((await ask('GET', path)).text).not.toContain('rest:');
  expect((await ask('GET', '/a/b')).text).toBe('rest: a/b');
  expect((await ask('GET', '/owned/b/c')).text).toBe('rest: b/c');
});

test.each([false, true])(
  'the more specific path of a protocol answers, whatever their order (reversed: %j)',
  async (isReversed) => {
    const paths = [
      '/{any}',
      '/{rest+}',
      '/a/{x+}',
      '/a/{x}/c',
      '/a/b/{z}',
      '/{x}/b/c',
      '/list-apps/{app}',
      '/apps/{appName}/{rest+}',
      '/runs/{a}/{b+}',
      '/runs/{c}',
    ];
    const commonRoutes = paths.map((path) => ({
      method: 'get' as const,
      path,
      operationId: path.replaceAll(/\W/g, '_'),
      summary: '',
      response: { contentType: 'text/plain' },
      handle: () => new Response(path),
    }));
    const protocols = [{ name: 'p', routes: [], commonRoutes: isReversed ? commonRoutes.reverse() : commonRoutes }];
    const { ask } = await setUp([], { protocols });
    for (const path of ['/openapi.json', '/health', '/list-apps', '/apps/app/users/ann/sessions'])
      expect(paths).not.toContain((await ask('GET', path)).text);
    const asked = [
      '/x',
      '/x/y',
      '/a/1',
      '/a/1/2',
      '/a/1/c',
      '/a/b/c',
      '/x/b/c',
      '/list-apps/1',
      '/apps/1/2',
      '/runs/1',
      '/runs/1/2',
    ];
    const answers = await Promise.all(asked.map(async (path) => (await ask('GET', path)).text));
    expect(answers).toEqual([
      '/{any}',
      '/{rest+}',
      '/a/{x+}',
      '/a/{x+}',
      '/a/{x}/c',
      '/a/b/{z}',
      '/{x}/b/c',
      '/list-apps/{app}',
      '/apps/{appName}/{rest+}',
      '/runs/{c}',
      '/runs/{a}/{b+}',
    ]);
  },
);

describe('createServer', () => {
  const route = testProtocol().routes[0] as ProtocolRoute;
  const withRoute = (change: object): Protocol => testProtocol({ routes: [{ ...route, ...change }] });
  test.each<[string, unknown, string]>([
    ['no list', {}, 'expected a list'],
    ['nothing', [undefined], 'expected a name and a list of routes'],
    [
      'a name twice',
      [testProtocol(), testProtocol()],
      'protocols: test: two protocols have this name; choose another name',
    ],
    [
      'an address of the ADK',
      [testProtocol({ routes: [{ ...route, path: '/run', owner: () => ({ appName: 'a', userId: 'b' }) }] })],
      'has a route at POST /run already',
    ],
    [
      'the address of the OpenAPI document',
      [testProtocol({ routes: [], commonRoutes: [{ ...route, method: 'get', path: '/openapi.json' }] })],
      'has a route at GET /openapi.json already',
    ],
    [
      'the address of live runs',
      [testProtocol({ routes: [], commonRoutes: [{ ...route, method: 'get', path: '/run_live' }] })],
      'has a route at GET /run_live already',
    ],
    ['one address twice', [testProtocol({ routes: [route, { ...route, path: '/p/{userId}/{appName}' }] })], 'already'],
    ['a path without a user', [testProtocol({ routes: [{ ...route, path: '/p/{appName}' }] })], 'does not name a user'],
    [
      'an empty segment in a path',
      [testProtocol({ routes: [{ ...route, path: `/${OWNER}` }] })],
      'path: expected a path',
    ],
    [
      'an unknown method',
      [testProtocol({ routes: [{ ...route, method: 'put' as never }] })],
      'method: expected one of get, post, patch, delete, got "put"; write method: \'get\'',
    ],
    ['no handler', [withRoute({ handle: undefined })], 'handle: is missing; write handle: (request) =>'],
    ['no route in the list', [testProtocol({ routes: [null as never] })], 'test: expected a route, got null'],
    ['no operationId', [withRoute({ operationId: undefined })], "operationId: is missing; write operationId: 'say'"],
    [
      'no response',
      [withRoute({ response: undefined })],
      "response: is missing; write response: { contentType: 'text/plain' }",
    ],
    [
      'an empty response',
      [withRoute({ response: {} })],
      'response: expected the schema or the content type of the response',
    ],
    ['a response of a wrong kind', [withRoute({ response: { contentType: 1 } })], 'response: expected the schema or'],
    ['a summary that is not text', [withRoute({ summary: 1 })], 'summary: expected a string, got the number 1'],
    [
      'a status that is not an error',
      [withRoute({ errors: [409, 200] })],
      'errors[1]: expected a status from 400 to 599',
    ],
    [
      'a body schema that is not a schema',
      [withRoute({ bodySchema: [] })],
      'bodySchema: expected an object, got a list',
    ],
    ['an owner that is not a function', [withRoute({ owner: 'ann' })], 'owner: expected a function, got a string'],
    [
      'a route of a user without authentication',
      [withRoute({ isPublic: true })],
      'has no option "isPublic"; a route in routes acts for an authenticated user; list a route without authentication in commonRoutes',
    ],
    [
      'an instance of a class that is a route of a user without authentication',
      [testProtocol({ routes: [Object.assign(new (class OpenRoute {})(), route, { isPublic: true })] })],
      'has no option "isPublic"',
    ],
    [
      'an owner of a common route',
      [testProtocol({ commonRoutes: [{ ...route, operationId: 'card', path: '/card', owner: () => ({}) } as never] })],
      'has no option "owner"; a route in commonRoutes does not act for a user; list the route in routes',
    ],
    [
      'a misspelt list',
      [{ name: 'p', routes: [], commonRoute: [] }],
      'protocols: p: has no option "commonRoute"; did you mean',
    ],
    ['a misspelt field', [withRoute({ hndle: 1 })], 'has no option "hndle"; did you mean "handle"?'],
    ['an operationId of the ADK', [withRoute({ operationId: 'runSse' })], 'has a route "runSse" already'],
    [
      'an operationId twice',
      [testProtocol({ routes: [route, { ...route, path: `${OWNER}/other` }] })],
      'operationId: the server has a route "begin" already; choose another name',
    ],
  ])('refuses protocols with %s', (_what, protocols, message) => {
    expect(() => createServer({ runners: [], protocols: protocols as never })).toThrow(message);
  });
});
