import { type Platform, type SessionKey, systemPlatform } from '@eventloom/core';
import { ManualPlatform } from '@eventloom/core/conformance';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import type { ProtocolRequest } from '../protocol.ts';
import type { EventloomServer } from '../create-server.ts';
import type { ServerLimits } from '../server-limits.ts';
import { serveApp } from '../fixtures/server-scenario.ts';

interface Answer {
  readonly status: number;
  readonly code: unknown;
  readonly retryAfter: string | null;
}

interface Place {
  /** Sends a request as a user, who is named in the authorization header if the server authenticates. */
  readonly send: (userId: string, method: string, path: string, body: unknown) => Promise<Answer>;
  readonly run: (userId: string, sessionId: string, text?: string) => Promise<Answer>;
  /** Starts a streamed run. */
  readonly stream: (userId: string, sessionId: string) => Promise<Response>;
  readonly head: (userId: string, path: string, signal?: AbortSignal) => Promise<Response>;
  readonly patch: (userId: string, sessionId: string) => Promise<Answer>;
  readonly fetchAs: EventloomServer['fetchAs'];
  /** Lists the sessions of a user. */
  readonly list: (userId: string) => Promise<unknown>;
}

interface Setting {
  /** True for a server without authentication. Default false. */
  readonly isOpen?: boolean;
  readonly sessionService?: InMemorySessionService;
  readonly platform?: Platform;
}

function setUp(
  steps: readonly ScriptedStep[],
  { isOpen = false, sessionService, platform, ...limits }: Partial<ServerLimits> & Setting = {},
): Place {
  const authenticate = (request: Request) => ({ userId: request.headers.get('authorization') ?? '' });
  const { server } = serveApp({
    steps,
    runner: { autoCreateSession: true },
    ...(sessionService ? { sessionService } : {}),
    ...(platform ? { platform } : {}),
    limits: { respondAfterMs: 0, ...limits },
    ...(isOpen ? {} : { authenticate }),
  });
  const send: Place['send'] = async (userId, method, path, body) => {
    const text = body instanceof ReadableStream || body === undefined ? (body ?? null) : JSON.stringify(body);
    const length: Record<string, string> = typeof text === 'string' ? { 'content-length': String(text.length) } : {};
    const headers = { authorization: userId, ...length };
    const init = { method, headers, body: text, duplex: 'half' };
    const response = await server.fetch(new Request(`http://localhost${path}`, init));
    const json = (await response.json()) as { code?: unknown } | null;
    return { status: response.status, code: json?.code, retryAfter: response.headers.get('retry-after') };
  };
  return {
    send,
    fetchAs: server.fetchAs,
    run: (userId, sessionId, text = 'hi') => send(userId, 'POST', '/run', bodyOf(userId, sessionId, text)),
    stream: async (userId, sessionId) => {
      const init = {
        method: 'POST',
        headers: { authorization: userId },
        body: JSON.stringify(bodyOf(userId, sessionId)),
      };
      return server.fetch(new Request('http://localhost/run_sse', init));
    },
    head: async (userId, path, signal) => {
      const init = { method: 'HEAD', headers: { authorization: userId }, ...(signal && { signal }) };
      return server.fetch(new Request(`http://localhost${path}`, init));
    },
    patch: (userId, sessionId) =>
      send(userId, 'PATCH', `/apps/app/users/${userId}/sessions/${sessionId}`, { stateDelta: { a: 1 } }),
    list: async (userId) => {
      const init = { headers: { authorization: userId } };
      return (await server.fetch(new Request(`http://localhost/apps/app/users/${userId}/sessions`, init))).json();
    },
  };
}

const KEY = { appName: 'app', userId: 'ann' };

function bodyOf(userId: string, sessionId: string, text = 'hi'): object {
  return { appName: 'app', userId, sessionId, newMessage: { parts: [{ text }] } };
}

interface SlowBody {
  readonly body: ReadableStream;
  /** Resolves when the server has read the first part and asks for the rest. */
  readonly reached: Promise<void>;
  readonly finish: () => void;
}

/** A body of which the client sends this many bytes, and the rest on request of the test. */
function slowBody(userId: string, sessionId: string, bytes: number): SlowBody {
  const text = JSON.stringify(bodyOf(userId, sessionId, 'x'.repeat(bytes)));
  const parts = [text.slice(0, bytes), text.slice(bytes)];
  const gate = new Gate();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (parts.length === 1) await gate.pass();
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(part));
      },
    },
    { highWaterMark: 0 },
  );
  return { body, reached: gate.reached, finish: () => gate.open() };
}

const DONE = { status: 200, code: undefined, retryAfter: null };
const USER_LIMIT = { status: 429, code: 'USER_LIMIT', retryAfter: '1' };
const SERVER_BUSY = { status: 503, code: 'SERVER_BUSY', retryAfter: '1' };

describe('runs in flight', () => {
  test('of one user are limited, and those of others are not affected', async () => {
    const gates = [new Gate(), new Gate()];
    const { run } = setUp([...gates.map((gate) => ({ gate, text: 'late' })), 'bob', 'again'], { maxRunsPerUser: 2 });
    const running = [run('ann', 's0'), run('ann', 's1')];
    await Promise.all(gates.map((gate) => gate.reached));
    expect(await run('ann', 's2')).toEqual(USER_LIMIT);
    expect(await run('bob', 's')).toEqual(DONE);
    for (const gate of gates) gate.open();
    expect(await Promise.all(running)).toEqual([DONE, DONE]);
    expect(await run('ann', 's2')).toEqual(DONE);
  });

  test('without authenticate count for the user in the body', async () => {
    const gate = new Gate();
    const { run } = setUp([{ gate, text: 'late' }, 'bob'], { maxRunsPerUser: 1, isOpen: true });
    const running = run('ann', 's0');
    await gate.reached;
    expect(await run('ann', 's1')).toEqual(USER_LIMIT);
    expect(await run('bob', 's')).toEqual(DONE);
    gate.open();
    expect(await running).toEqual(DONE);
  });

  test('are not started for a stream if the user has the maximum number of connections', async () => {
    const gate = new Gate();
    const { run, stream } = setUp([{ gate, text: 'late' }, 'not streamed', 'again'], { maxReadersPerUser: 1 });
    const first = await stream('ann', 's0');
    const refused = await stream('ann', 's1');
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: 'USER_LIMIT' }]);
    expect(await run('ann', 's1')).toEqual(DONE);
    gate.open();
    await first.text();
    expect(await (await stream('ann', 's1')).text()).toContain('again');
  });

  test('are not started for more streams than the user may have if many are requested at once', async () => {
    const gate = new Gate();
    const late = { gate, text: 'late' };
    const { stream } = setUp([late, late, 'bob', 'again'], { maxReadersPerUser: 2 });
    const responses = await Promise.all(['s0', 's1', 's2', 's3'].map((sessionId) => stream('ann', sessionId)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(await (await stream('bob', 's')).text()).toContain('bob');
    gate.open();
    await Promise.all(responses.map((response) => response.text()));
    expect(await (await stream('ann', 's2')).text()).toContain('again');
  });

  test('are not counted as read by HEAD requests', async () => {
    const gate = new Gate();
    const { stream, head } = setUp([{ gate, text: 'late' }], { maxReadersPerUser: 2 });
    const first = await stream('ann', 's');
    const path = `/apps/app/users/ann/sessions/s/runs/${first.headers.get('eventloom-invocation-id')}`;
    for (let count = 0; count < 5; count++) expect((await head('ann', path)).status).toBe(200);
    gate.open();
    expect(await first.text()).toContain('late');
  });

  test('count until the run ends, even if the client has its answer', async () => {
    const gate = new Gate();
    const { stream, run } = setUp([{ gate, text: 'late' }, 'next'], { isOpen: true, maxRunsPerUser: 1 });
    const streaming = await stream('ann', 's');
    await gate.reached;
    expect((await run('ann', 't')).status).toBe(429);
    gate.open();
    await streaming.text();
    expect((await run('ann', 't')).status).toBe(200);
  });
});

test('each run that one request of a protocol starts counts until it has ended', async () => {
  const gate = new Gate();
  const route = {
    method: 'post',
    path: '/pairs/{appName}/{userId}',
    operationId: 'startPair',
    summary: 'Starts two runs',
    response: { schema: {} },
    async handle(request: ProtocolRequest) {
      for (const sessionId of ['s', 't'])
        await request.startRun({ ...KEY, sessionId, newMessage: { parts: [{ text: 'hi' }] } });
      return Response.json(null);
    },
  } as const;
  const { server, send } = serveApp({
    steps: [{ gate, text: 'late' }, 'short', { gate, text: 'next' }, 'last'],
    runner: { autoCreateSession: true },
    protocols: [{ name: 'pairs', routes: [route] }],
    limits: { respondAfterMs: 0, maxRunsPerUser: 2 },
  });
  expect((await send('POST', '/pairs/app/ann')).status).toBe(200);
  await expect.poll(() => server.runsInFlight).toBe(1);
  const next = send('POST', '/run', bodyOf('ann', 'u'));
  await expect.poll(() => server.runsInFlight).toBe(2);
  expect((await send('POST', '/run', bodyOf('ann', 'v'))).status).toBe(429);
  gate.open();
  expect((await next).status).toBe(200);
  await server.whenIdle();
  expect((await send('POST', '/run', bodyOf('ann', 'v'))).status).toBe(200);
});

test('each run of a protocol has one connection, which is counted before the run starts', async () => {
  const gate = new Gate();
  const late = { gate, text: 'late' };
  const writer = { item: () => 'data: x\n\n' };
  const begin = async (request: ProtocolRequest) =>
    request.startRun({ ...KEY, sessionId: request.param('s'), newMessage: { parts: [{ text: 'hi' }] } });
  const handlers = {
    /** Reads the run. */
    read: async (request: ProtocolRequest) => (await begin(request)).sse(writer),
    /** Reads the run twice. */
    reread: async (request: ProtocolRequest) => {
      const run = await begin(request);
      const first = await run.sse(writer);
      try {
        return await run.sse(writer);
      } finally {
        await first.body?.cancel();
      }
    },
    /** Does not read the run. */
    send: async (request: ProtocolRequest) => Response.json((await begin(request)).invocationId),
  };
  const routes = Object.entries(handlers).map(([name, handle]) => ({
    method: 'post' as const,
    path: `/${name}/{appName}/{userId}/{s}`,
    operationId: name,
    summary: '',
    response: { schema: {} },
    handle,
  }));
  const { server, send, sessionService } = serveApp({
    steps: [late, late, late],
    runner: { autoCreateSession: true },
    protocols: [{ name: 'p', routes }],
    limits: { respondAfterMs: 0, maxReadersPerUser: 1 },
  });
  const post = (name: string, s: string) => send('POST', `/${name}/app/ann/${s}`);
  expect((await post('send', 's0')).status).toBe(200);
  expect((await post('reread', 's1')).status).toBe(429);
  const [read, refused] = await Promise.all([post('read', 's2'), post('read', 's3')]);
  expect([read?.status, refused?.status]).toEqual([200, 429]);
  gate.open();
  await server.whenIdle();
  const { sessions } = await sessionService.listSessions(KEY);
  expect(sessions.map(({ id }) => id).sort()).toEqual(['s0', 's1', 's2']);
});

describe('requests that wait for a session', () => {
  test('of one user are limited: runs and state changes together', async () => {
    const gate = new Gate();
    const { run, patch } = setUp([{ gate, text: 'late' }, 'queued', 'bob', 'again'], { maxQueuedRequestsPerUser: 2 });
    const running = run('ann', 's');
    await gate.reached;
    const waiting = [run('ann', 's'), patch('ann', 's')];
    // Both requests are queued before the next one arrives.
    await new Promise(setImmediate);
    expect(await run('ann', 's')).toEqual(USER_LIMIT);
    expect(await patch('ann', 's')).toEqual(USER_LIMIT);
    expect((await patch('bob', 's')).code).toBe('SESSION_NOT_FOUND');
    gate.open();
    expect(await Promise.all([running, ...waiting])).toEqual([DONE, DONE, DONE]);
    expect(await run('ann', 's')).toEqual(DONE);
  });

  test('are limited in total', async () => {
    const gate = new Gate();
    const { run, patch } = setUp([{ gate, text: 'late' }, 'queued', 'again'], { maxQueuedRequests: 1 });
    const running = run('ann', 's');
    await gate.reached;
    const waiting = run('ann', 's');
    expect(await patch('bob', 's')).toEqual(SERVER_BUSY);
    gate.open();
    expect(await Promise.all([running, waiting])).toEqual([DONE, DONE]);
    expect(await run('bob', 's')).toEqual(DONE);
  });

  test('exclude those that have their session', async () => {
    const gates = [new Gate(), new Gate()];
    const { run } = setUp(
      gates.map((gate) => ({ gate, text: 'late' })),
      { maxQueuedRequestsPerUser: 1 },
    );
    const running: Promise<Answer>[] = [];
    for (const [index, gate] of gates.entries()) {
      running.push(run('ann', `s${index}`));
      await gate.reached;
    }
    for (const gate of gates) gate.open();
    expect(await Promise.all(running)).toEqual([DONE, DONE]);
  });
});

describe('bytes of bodies in flight', () => {
  const limits = { maxBodyBytes: 80_000, maxBodyBytesInFlightPerUser: 100_000, maxBodyBytesInFlight: 170_000 };

  test('of one user are limited while they arrive, and those of others are not affected', async () => {
    const { send, run } = setUp(['one', 'bob', 'two'], limits);
    const slow = slowBody('ann', 's0', 60_000);
    const sent = send('ann', 'POST', '/run', slow.body);
    await slow.reached;
    expect(await send('ann', 'POST', '/run', slowBody('ann', 's1', 60_000).body)).toEqual(USER_LIMIT);
    expect(await run('ann', 's2', 'x'.repeat(60_000))).toEqual(USER_LIMIT);
    expect(await run('bob', 's', 'x'.repeat(60_000))).toEqual(DONE);
    slow.finish();
    expect(await sent).toEqual(DONE);
    expect(await run('ann', 's1', 'x'.repeat(60_000))).toEqual(DONE);
  });

  test('are limited in total', async () => {
    const { send, run } = setUp(['one', 'two', 'three'], limits);
    const bodies = ['ann', 'bob'].map((userId) => ({ userId, ...slowBody(userId, 's', 70_000) }));
    const sent = bodies.map(({ userId, body }) => send(userId, 'POST', '/run', body));
    await Promise.all(bodies.map(({ reached }) => reached));
    // If the body arrives in several pieces, the user soon has more than is free.
    expect([SERVER_BUSY, USER_LIMIT]).toContainEqual(await run('eve', 's', 'x'.repeat(60_000)));
    for (const { finish } of bodies) finish();
    expect(await Promise.all(sent)).toEqual([DONE, DONE]);
    expect(await run('eve', 's', 'x'.repeat(60_000))).toEqual(DONE);
  });

  test('without authenticate count for the user in the body once it was read', async () => {
    const gate = new Gate();
    const { run } = setUp([{ gate, text: 'late' }, 'bob', 'again'], { ...limits, isOpen: true });
    const running = run('ann', 's0', 'x'.repeat(60_000));
    await gate.reached;
    expect(await run('ann', 's1', 'x'.repeat(60_000))).toEqual(USER_LIMIT);
    expect(await run('bob', 's', 'x'.repeat(60_000))).toEqual(DONE);
    gate.open();
    expect(await running).toEqual(DONE);
    expect(await run('ann', 's1', 'x'.repeat(60_000))).toEqual(DONE);
  });

  test('a body over the limit is refused as too large, not as busy', async () => {
    const { run } = setUp([], { maxBodyBytesInFlightPerUser: 1000 });
    expect(await run('ann', 's', 'x'.repeat(1000))).toEqual({ status: 413, code: 'BODY_TOO_LARGE', retryAfter: null });
  });

  test('are released however the request ends', async () => {
    const { send, run } = setUp(['done'], limits);
    const refused = [
      ['POST', '/run', { appName: 'none', userId: 'ann', sessionId: 's', newMessage: { parts: [{ text: 'x' }] } }],
      ['POST', '/run', { appName: 'app', userId: 'ann', sessionId: 's', newMessage: { parts: [] } }],
      ['POST', '/run', { padding: 'x'.repeat(70_000) }],
      ['POST', '/run', new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })],
      ['POST', '/apps/app/users/bob/sessions', { state: { a: 'x'.repeat(70_000) } }],
      ['POST', '/apps/app/users/ann/sessions', { state: 'x'.repeat(70_000) }],
      ['POST', '/apps/app/users/ann/sessions/s/rewind', { rewindBeforeInvocationId: 'x'.repeat(70_000) }],
    ] as const;
    for (const [method, path, body] of refused) {
      for (let time = 0; time < 3; time++) {
        const { status } = await send('ann', method, path, body instanceof ReadableStream ? body : { ...body });
        expect([400, 403, 404, 413]).toContain(status);
        if (body instanceof ReadableStream) break;
      }
    }
    expect(await run('ann', 's', 'x'.repeat(70_000))).toEqual(DONE);
  });
});

/** A clock that stands still, so that no request gives its place away because it takes long. Pauses are made as always. */
function createStillPlatform(): Platform {
  const still = new ManualPlatform();
  const schedule: Platform['schedule'] = (delayMs, callback) =>
    (delayMs === 0 ? systemPlatform : still).schedule(delayMs, callback);
  return { ...systemPlatform, schedule };
}

test('the requests of a user wait for each other, and not those of another user', async () => {
  const gate = new Gate();
  const deleted: string[] = [];
  class SlowService extends InMemorySessionService {
    override async deleteSession(key: SessionKey): Promise<void> {
      deleted.push(key.userId);
      if (key.userId === 'ann') await gate.pass();
      return super.deleteSession(key);
    }
  }
  const { send, head, fetchAs } = setUp([], { sessionService: new SlowService(), platform: createStillPlatform() });
  const remove = async (userId: string, sessionId: number): Promise<number> =>
    (await send(userId, 'DELETE', `/apps/app/users/${userId}/sessions/${sessionId}`, undefined)).status;
  const removing = Array.from({ length: 20 }, (_, sessionId) => remove('ann', sessionId));
  await expect.poll(() => deleted.length).toBe(8);
  expect(await remove('bob', 0)).toBe(200);
  expect(deleted).toEqual([...Array<string>(8).fill('ann'), 'bob']);
  // A request whose client has left is not worked on.
  const leaving = new AbortController();
  const left = head('ann', '/apps/app/users/ann/sessions', leaving.signal);
  leaving.abort();
  expect((await left).status).toBe(499);
  // A request of the program itself may be made inside of one that has a place.
  const url = 'http://localhost/apps/app/users/ann/sessions/own';
  const own = fetchAs({ userId: 'ann' }, new Request(url, { method: 'DELETE' }));
  await expect.poll(() => deleted.length).toBe(10);
  gate.open();
  expect((await own).status).toBe(200);
  expect(await Promise.all(removing)).toEqual(Array(20).fill(200));
});

test('a run that has begun is not counted among the requests of its user that are worked on', async () => {
  const running = new Gate();
  const steps = Array<ScriptedStep>(12).fill({ gate: running, text: 'done' });
  const { run, list } = setUp(steps, { platform: createStillPlatform() });
  const runs = steps.map((_, index) => run('ann', `s${index}`));
  await expect.poll(() => list('ann')).toHaveLength(12);
  running.open();
  expect((await Promise.all(runs)).map(({ status }) => status)).toEqual(Array(12).fill(200));
});
