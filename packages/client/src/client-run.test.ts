import { type Event, stringifyContent } from '@eventloom/core';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { AgentChat } from './chat/index.ts';
import {
  answerPart,
  ConnectionLostError,
  emptyConversation,
  EventloomClient,
  filePart,
  reduceEvents,
  ServerError,
} from './index.ts';
import { cutAfter, type Network, silentAfter, startServer } from './fixtures/test-server.ts';

const SCRIPT: readonly ScriptedStep[] = [
  { chunks: ['Let me ', 'look.', [{ functionCall: { name: 'look' } }]] },
  { chunks: ['Blue', ' sky.'] },
];

const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ color: 'blue' }) });

const WHOLE = ['+Let me ', '+look.', '+', 'Let me look.', '', '+Blue', '+ sky.', 'Blue sky.'];

async function read(events: AsyncIterable<Event>): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const texts = (events: readonly Event[]): string[] =>
  events.map((event) => (event.partial ? `+${stringifyContent(event)}` : stringifyContent(event)));

describe('a run', () => {
  test('yields the events of the server, chunks included, in one request', async () => {
    const { session, requests } = startServer(SCRIPT, { tools: [look] });
    const run = session.run('What color?');
    const events = await read(run);
    expect(texts(events)).toEqual(WHOLE);
    expect(run.invocationId).toBe(events[0]?.invocationId);
    expect(requests).toEqual(['POST /run_sse']);
  });

  describe('with answers', () => {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: true,
      execute: () => ({ paid: true }),
    });

    test.each([
      [true, 'completed'],
      [false, 'rejected'],
    ])(
      'of confirmed: %j yields them first, and a conversation of its events has no request left',
      async (confirmed, status) => {
        let cuts = 0;
        const network: Network = async (request, forward) => {
          const answer = await forward(request);
          // The connection to the second run is lost before its first event.
          return cuts++ === 1 ? cutAfter(answer, 0) : answer;
        };
        const { session } = startServer([{ calls: [{ name: 'pay' }] }, 'Done.'], { tools: [pay], network });
        let conversation = emptyConversation;
        for await (const event of session.run('Pay')) conversation = reduceEvents(conversation, [event]);
        const answers = conversation.requests.map((each) => answerPart(each, { kind: 'confirmation', confirmed }));
        expect(answers).toHaveLength(1);
        const events = await read(session.run(answers));
        expect(events.filter(({ author }) => author === 'user')).toEqual([events[0]]);
        expect(events[0]?.invocationId).toBe(events[1]?.invocationId);
        conversation = reduceEvents(conversation, events);
        expect(conversation.requests).toEqual([]);
        expect(conversation.messages[0]?.parts).toMatchObject([{ name: 'pay', status }]);
        // The session has the answers with another id, which changes nothing.
        const again = reduceEvents(conversation, (await session.get()).events);
        expect(again.messages.map(({ author }) => author)).toEqual(['user', 'helper', 'helper']);
        expect(again.messages.slice(1)).toEqual(conversation.messages);
        expect(again.requests).toEqual([]);
      },
    );

    test('that the server refuses yields nothing', async () => {
      const { session } = startServer(['Hello.']);
      await read(session.run('Hi'));
      const events: Event[] = [];
      const answer = answerPart(
        { id: 'q1', name: 'adk_request_confirmation', kind: 'confirmation' },
        { kind: 'confirmation', confirmed: true },
      );
      const reading = async (): Promise<void> => {
        for await (const event of session.run([answer])) events.push(event);
      };
      await expect(reading()).rejects.toThrow(ServerError);
      expect(events).toEqual([]);
    });
  });

  test('is followed on another server of the same storage, each whole event once', async () => {
    const gate = new Gate();
    const steps: ScriptedStep[] = [
      { chunks: ['Let me ', [{ functionCall: { name: 'look' } }]] },
      { gate, text: 'Blue sky.' },
    ];
    let asked = 0;
    const network: Network = async (request, forward) => {
      // The first server works on the run; its connection to the client is lost in mid-stream.
      if (asked++ === 0) return cutAfter(await forward(request), 900);
      // The other one has answered once that the run continues elsewhere.
      if (asked === 3) {
        gate.open();
        await expect.poll(async () => (await stored())?.at(-1)?.content?.parts?.[0]?.text).toBe('Blue sky.');
      }
      return other.server.fetch(request);
    };
    const stored = async () => (await first.sessionService.getSession(first.session.key))?.events;
    const first = startServer(steps, { tools: [look], network });
    const other = startServer([], { sessionService: first.sessionService });
    const events = await read(first.session.run('What color?'));
    const whole = events.filter(({ partial }) => partial !== true);
    expect(texts(whole).at(-1)).toBe('Blue sky.');
    const all = (await stored()) ?? [];
    expect(whole.map(({ id }) => id)).toEqual(all.filter(({ author }) => author !== 'user').map(({ id }) => id));
    expect(asked).toBeGreaterThan(2);
    expect([first.model.calls, other.model.calls]).toEqual([2, 0]);
    expect(first.requests).toEqual(['POST /run_sse']);
  });

  test('yields each event once when the connection is cut after any byte', async () => {
    const whole = startServer(SCRIPT, { tools: [look] });
    const response = await whole.server.fetch(
      new Request('http://localhost/run_sse', {
        method: 'POST',
        headers: { 'eventloom-event-ids': '1' },
        body: JSON.stringify({ ...whole.session.key, newMessage: { parts: [{ text: 'hi' }] }, streaming: true }),
      }),
    );
    const { length } = await response.bytes();
    expect(length).toBeGreaterThan(1500);
    // 29 has no factor in common with the lengths of frames, so that cuts come at all places in them.
    for (let bytes = 0; bytes < length; bytes += 29) {
      let cuts = 0;
      const network: Network = async (request, forward) => {
        const answer = await forward(request);
        return cuts++ === 0 ? cutAfter(answer, bytes) : answer;
      };
      const { session, model, sessionService } = startServer(SCRIPT, { tools: [look], network });
      const events = await read(session.run('What color?'));
      expect(texts(events), `cut after ${bytes} bytes`).toEqual(WHOLE);
      expect(model.calls, `cut after ${bytes} bytes`).toBe(2);
      const stored = await sessionService.getSession(session.key);
      expect(stored?.events.filter(({ author }) => author === 'user')).toHaveLength(1);
    }
  });

  test('that is followed shows each message once, with chunks, wherever the connection is cut', async () => {
    for (const bytes of [0, 100, 400, 700, 1000, 1300]) {
      let cuts = 0;
      const network: Network = async (request, forward) => {
        const answer = await forward(request);
        return request.method === 'GET' && request.url.includes('/runs/') && cuts++ === 0
          ? cutAfter(answer, bytes)
          : answer;
      };
      const gate = new Gate();
      const script: readonly ScriptedStep[] = [{ calls: [{ name: 'look' }] }, { chunks: ['Blue', gate, ' sky.'] }];
      const { session } = startServer(script, { tools: [look], network });
      const run = session.run('What color?');
      const reading = read(run);
      await gate.reached;
      let shown = reduceEvents(emptyConversation, (await session.get()).events);
      const seen = new Set<string>();
      for await (const event of session.follow(run.id)) {
        shown = reduceEvents(shown, [event]);
        seen.add(
          shown.messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : part.type))).join(', '),
        );
        gate.open();
      }
      await reading;
      expect([...seen], `cut after ${bytes} bytes`).toEqual([
        'What color?, call',
        'What color?, call, Blue',
        'What color?, call, Blue sky.',
      ]);
      const { events } = await session.get();
      expect(shown.messages.map(({ parts }) => parts)).toEqual(
        reduceEvents(emptyConversation, events).messages.map(({ parts }) => parts),
      );
    }
  });

  test.each(['SLOW_READER', 'RUN_GOES_ON', 'RUN_NOT_BEGUN'])('is followed after a frame with %s', async (code) => {
    let asked = 0;
    const network: Network = async (request, forward) => {
      const answer = await forward(request);
      if (asked++ > 0) return answer;
      const [first = '', second = ''] = (await answer.text()).split('\n\n');
      const end = `data: ${JSON.stringify({ error: 'not yet', code })}\n\n`;
      return new Response(`${first}\n\n${second}\n\n${end}`, { headers: answer.headers });
    };
    const { session, requests } = startServer(SCRIPT, { tools: [look], network });
    expect(texts(await read(session.run('What color?')))).toEqual(WHOLE);
    expect(requests).toHaveLength(2);
  });

  test.each([1, 2, 3])(
    'is followed, ever more slowly, for as long as another process continues it, with %i attempts',
    async (attempts) => {
      let asked = 0;
      const end = `data: ${JSON.stringify({ error: 'not yet', code: 'RUN_GOES_ON' })}\n\n`;
      const network: Network = async (request, forward) => {
        const answer = await forward(request);
        return ++asked > 8 || !request.url.includes('/run') ? answer : new Response(end, { headers: answer.headers });
      };
      const timers = vi.spyOn(globalThis, 'setTimeout');
      const retry = { attempts, firstDelayMs: 1, maxDelayMs: 4 };
      const { session } = startServer(SCRIPT, { tools: [look], network, retry });
      expect(texts(await read(session.run('What color?')))).toEqual(WHOLE);
      expect(asked).toBe(9);
      const delays = timers.mock.calls
        .map(([, delayMs = 0]) => delayMs)
        .filter((delayMs) => delayMs >= 2 && delayMs <= 4);
      expect(delays.length).toBeGreaterThan(3);
      timers.mockRestore();
    },
  );

  test('fails at once, like a read of a session, if the server answers with a page', async () => {
    const page = (): Response => new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
    const { session } = startServer([], { network: () => Promise.resolve(page()) });
    const error = {
      code: 'SERVER_RESPONSE',
      message: expect.stringContaining('is baseUrl an Eventloom server?') as string,
    };
    await expect(read(session.run('Hi'))).rejects.toMatchObject(error);
    await expect(session.get()).rejects.toMatchObject(error);
    await expect(session.listEvents()).rejects.toMatchObject(error);
  });

  test('fails with its own error of the code SLOW_READER, which has a number', async () => {
    const end = `id: 3\ndata: ${JSON.stringify({ error: 'the call ended', code: 'SLOW_READER' })}\n\n`;
    const headers = { 'content-type': 'text/event-stream' };
    const { session } = startServer([], { network: () => Promise.resolve(new Response(end, { headers })) });
    await expect(read(session.run('Hi'))).rejects.toMatchObject({ serverCode: 'SLOW_READER' });
  });

  test('runs once when the answer to its request is lost', async () => {
    let lost = 0;
    const network: Network = async (request, forward) => {
      const answer = await forward(request);
      if (lost++ > 2) return answer;
      throw new TypeError('fetch failed');
    };
    const { session, model } = startServer([{ text: 'Hello.' }], { network });
    expect(texts(await read(session.run('Hi')))).toEqual(['+Hello.', 'Hello.']);
    expect(model.calls).toBe(1);
  });

  test('is requested again after an answer that asks for a later attempt', async () => {
    let refused = 0;
    const network: Network = (request, forward) =>
      refused++ > 1
        ? forward(request)
        : Promise.resolve(Response.json({ error: 'full', code: 'SERVER_BUSY' }, { status: 503 }));
    const { session } = startServer([{ text: 'Hello.' }], { network });
    expect(texts(await read(session.run('Hi')))).toEqual(['+Hello.', 'Hello.']);
    expect(refused).toBe(3);
  });

  test('throws ConnectionLostError when all attempts failed', async () => {
    let attempts = 0;
    const network: Network = () => {
      attempts++;
      return Promise.reject(new TypeError('fetch failed'));
    };
    const { session } = startServer([], { network, retry: { attempts: 4 } });
    await expect(read(session.run('Hi'))).rejects.toThrow(ConnectionLostError);
    expect(attempts).toBe(4);
  });

  test('throws the error of a server that refuses the request, and does not repeat the request', async () => {
    const { session, requests } = startServer([]);
    const run = session.run([{ text: 'Hi' }], { stateDelta: { 'app:x\u0000': 1 } });
    const error = await read(run).catch((thrown: unknown) => thrown);
    expect(ServerError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ status: 400 });
    expect(requests).toHaveLength(1);
  });

  test('throws the failure of the run after its events', async () => {
    const { session } = startServer([{ error: new Error('no more') }]);
    const events: Event[] = [];
    const reading = (async () => {
      for await (const event of session.run('Hi')) events.push(event);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'SERVER_RESPONSE', status: expect.any(Number) as number });
  });

  test('continues on the server when its reader stops, and can be followed from that position', async () => {
    const gate = new Gate();
    const slow = new FunctionTool({
      name: 'look',
      description: 'Looks.',
      execute: async () => {
        await gate.pass();
        return { color: 'blue' };
      },
    });
    const { session } = startServer(SCRIPT, { tools: [slow] });
    const run = session.run('What color?');
    for await (const event of run) if (!event.partial) break;
    gate.open();
    const rest = await read(session.follow(run.invocationId ?? '', { lastEventId: run.lastEventId }));
    expect(texts(rest)).toEqual(['', '+Blue', '+ sky.', 'Blue sky.']);
    expect(await run.state()).toMatchObject({ state: 'completed' });
  });

  test('is ended by cancel', async () => {
    const gate = new Gate();
    const slow = new FunctionTool({
      name: 'look',
      description: 'Looks.',
      execute: () => gate.pass().then(() => ({ color: 'blue' })),
    });
    const { session } = startServer(SCRIPT, { tools: [slow] });
    const run = session.run('What color?');
    const reading = (async () => {
      for await (const event of run) if (event.partial !== true) await run.cancel();
    })();
    await expect(reading).rejects.toMatchObject({ serverCode: 'RUN_ABORTED' });
    expect(await run.state()).toMatchObject({ state: 'interrupted' });
  });

  test('stops reading when its signal fires before the server has answered, and sends its message nevertheless', async () => {
    const gate = new Gate();
    const arrived = Promise.withResolvers<void>();
    const network: Network = async (request, forward) => {
      if (!request.url.endsWith('/run_sse')) return forward(request);
      await gate.pass(request.signal);
      arrived.resolve();
      return forward(request);
    };
    const { session } = startServer(['Hello.'], { network });
    const stop = new AbortController();
    const reading = read(session.run('Hi', { signal: stop.signal }));
    await gate.reached;
    stop.abort(new Error('stop'));
    await expect(reading).rejects.toThrow('stop');
    gate.open();
    await arrived.promise;
    await expect.poll(async () => (await session.get({ ifExists: true }))?.events.length).toBe(2);
    await expect(read(session.run('Hi', { signal: stop.signal }))).rejects.toThrow('stop');
  });

  test('closes its connection when the reader leaves after the first event', async () => {
    const closed = Promise.withResolvers<void>();
    const network: Network = async (request, forward) => silentAfter(await forward(request), 700, closed.resolve);
    const { session } = startServer(SCRIPT, { tools: [look], network });
    for await (const _ of session.run('What color?')) break;
    await closed.promise;
  });

  test('stops reading when its signal fires', async () => {
    const { session } = startServer(SCRIPT, { tools: [look] });
    const stop = new AbortController();
    const reading = (async () => {
      for await (const _ of session.run('What color?', { signal: stop.signal })) stop.abort();
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
  });

  test.each([200, 900, 1300])(
    'continues to be read when its connection is silent after %s bytes without closing',
    async (bytes) => {
      let answers = 0;
      const closed = new Set<number>();
      const network: Network = async (request, forward) => {
        const answer = await forward(request);
        const index = answers++;
        return index < 2 ? silentAfter(answer, bytes, () => closed.add(index)) : answer;
      };
      const { session, model } = startServer(SCRIPT, { tools: [look], network, retry: { idleMs: 20 } });
      const states: string[] = [];
      const events = await read(session.run('What color?', { onConnection: (state) => states.push(state) }));
      expect(texts(events)).toEqual(WHOLE);
      expect(model.calls).toBe(2);
      expect(states.filter((state) => state === 'open').length).toBeGreaterThan(1);
      expect(closed.has(0)).toBe(true);
    },
  );

  test('reports its connection', async () => {
    let cuts = 0;
    const network: Network = async (request, forward) => {
      const answer = await forward(request);
      return cuts++ === 0 ? cutAfter(answer, 800) : answer;
    };
    const { session } = startServer(SCRIPT, { tools: [look], network });
    const states: string[] = [];
    await read(session.run('What color?', { onConnection: (state) => states.push(state) }));
    expect(states).toEqual(['connecting', 'open', 'connecting', 'open', 'closed']);
  });

  test('fails for a server that does not send events', async () => {
    const network: Network = () => Promise.resolve(new Response('data: {"hello": 1}\n\n'));
    const { session } = startServer([], { network });
    await expect(read(session.run('Hi'))).rejects.toThrow('is baseUrl an Eventloom server?');
  });
});

describe('a client', () => {
  const example = "write new EventloomClient({ baseUrl: 'http://localhost:8000' })";
  test.each<[unknown, string]>([
    [{ baseUrl: 'localhost:8000' }, "write baseUrl: 'http://localhost:8000'"],
    [{ baseURL: 'http://localhost' }, 'has no option "baseURL"; did you mean "baseUrl"?'],
    [{ url: 'http://localhost' }, 'has no option "url"; did you mean "baseUrl", "headers", "fetch", "retry"?'],
    [{ host: 'localhost' }, 'has no option "host"; did you mean "baseUrl", "headers", "fetch", "retry"?'],
    [{ serverUrl: 'localhost' }, 'has no option "serverUrl"; did you mean "baseUrl", "headers", "fetch", "retry"?'],
    [{ retry: { attempt: 1 } }, 'EventloomClient: retry: has no option "attempt"; did you mean "attempts"?'],
    [{ timeout: 1 }, 'has no option "timeout"; did you mean "baseUrl", "headers", "fetch", "retry"?'],
    // From JavaScript.
    ['http://localhost', `EventloomClient: expected an object, got "http://localhost"; ${example}`],
    [new URL('http://localhost'), 'EventloomClient: has no option "'],
    [null, `EventloomClient: expected an object, got null; ${example}`],
  ])('refuses %j', (options, message) => {
    expect(() => new EventloomClient(options as never)).toThrow(message);
  });

  test('takes a path of the origin of its page as its baseUrl', async () => {
    const urls: string[] = [];
    const fetch = async (url: string): Promise<Response> => {
      urls.push(url);
      return Response.json([]);
    };
    vi.stubGlobal('location', { origin: 'https://shop.example' });
    onTestFinished(() => void vi.unstubAllGlobals());
    for (const options of [{ baseUrl: '/agents/' }, {}]) await new EventloomClient({ ...options, fetch }).listApps();
    expect(urls).toEqual(['https://shop.example/agents/list-apps', 'https://shop.example/list-apps']);
  });

  test.each([{}, { baseUrl: '/agents' }])(
    'can be created where there is no page, as when a page is rendered on a server, and refuses to send there (%j)',
    async (options) => {
      const client = new EventloomClient(options);
      await expect(client.listApps()).rejects.toThrow('baseUrl: expected an address');
      const session = client.session({ appName: 'app', userId: 'ann', sessionId: 's' });
      await expect(read(session.run('Hi'))).rejects.toThrow("write baseUrl: 'http://localhost:8000'");
    },
  );

  test('accepts a URL object as its baseUrl', async () => {
    const seen: string[] = [];
    const fetch = (url: string): Promise<Response> => (seen.push(url), Promise.resolve(Response.json([])));
    await new EventloomClient({ baseUrl: new URL('http://localhost/') as never, fetch }).listApps();
    expect(seen).toEqual(['http://localhost/list-apps']);
  });

  test.each([
    [[], 'undefined'],
    [['s'], '"s"'],
    [['app', 'u', 's'], '"app"'],
    [[{ appName: 'app', user: 'u', sessionId: 's' }], '{"appName":"app","user":"u","sessionId":"s"}'],
    [[{ appName: 'app', userId: '', sessionId: 's' }], '{"appName":"app","userId":"","sessionId":"s"}'],
    [[{ appName: 'app', userId: 5, sessionId: 's' }], '{"appName":"app","userId":5,"sessionId":"s"}'],
    [[{ appName: 'a', userId: 'u', sessionId: '..' }], '{"appName":"a","userId":"u","sessionId":".."}'],
  ])('refuses the session of the arguments %j', (given, got) => {
    const { client } = startServer([]);
    expect(() => client.session(...(given as unknown as Parameters<EventloomClient['session']>))).toThrow(
      `client.session: expected names, got ${got}; write client.session({ appName, userId, sessionId })`,
    );
  });

  test('refuses options that its methods do not have', async () => {
    const { client, session, requests } = startServer([]);
    const user = { appName: 'app', userId: 'ann' };
    expect(() => session.run('Hi', { createsession: true } as object)).toThrow(
      'run: has no option "createsession"; did you mean "createSession"?',
    );
    await expect(client.createSession(user, { ...user, sessionId: 't' } as object)).rejects.toThrow(
      'createSession: has no option "appName"',
    );
    await expect(client.listSessions(user, { max: 1 } as object)).rejects.toThrow(
      'list: has no option "max"; did you mean "limit", "cursor", "order"?',
    );
    expect(requests).toEqual([]);
  });

  test('sends the headers that a function returns, and calls it for each request', async () => {
    const seen: (string | null)[] = [];
    let token = 0;
    const client = new EventloomClient({
      baseUrl: 'http://localhost/prefix/',
      headers: () => ({ authorization: `Bearer ${++token}` }),
      fetch: (url, init) => {
        seen.push(`${url} ${new Headers(init.headers).get('authorization')}`);
        return Promise.resolve(Response.json([]));
      },
    });
    await client.listApps();
    await client.listApps();
    expect(seen).toEqual(['http://localhost/prefix/list-apps Bearer 1', 'http://localhost/prefix/list-apps Bearer 2']);
  });

  test('creates, updates, lists, rewinds and deletes sessions', async () => {
    const { client, session } = startServer([{ text: 'Hello.' }]);
    await session.create({ mood: 'good' });
    await expect(session.create()).rejects.toMatchObject({ serverCode: 'SESSION_ALREADY_EXISTS' });
    expect((await session.updateState({ mood: 'better' })).state).toEqual({ mood: 'better' });
    await read(session.run('Hi', { requestId: 'r1' }));
    expect((await session.get()).events.map(({ author }) => author)).toEqual(['user', 'user', 'helper']);
    expect((await session.listEvents({ limit: 1 })).nextCursor).toBeDefined();
    await session.rewind((await session.follow('r1').state()).invocationId);
    expect((await client.listSessions({ appName: 'app', userId: 'ann' })).items.map(({ id }) => id)).toEqual(['first']);
    expect(await client.listApps()).toEqual(['app']);
    await session.delete();
    await expect(session.get()).rejects.toMatchObject({ status: 404, serverCode: 'SESSION_NOT_FOUND' });
    expect((await client.createSession({ appName: 'app', userId: 'bob' }, { sessionId: 'x' })).id).toBe('x');
  });

  test('copies a session as it was after an event', async () => {
    const { client, session } = startServer([{ text: 'One.' }, { text: 'Two.' }]);
    await session.create({ mood: 'good' });
    await read(session.run('1'));
    await session.updateState({ mood: 'better' });
    const [first, reply] = (await session.get()).events;
    const copy = await session.fork(reply?.id ?? '', 'copy');
    expect(copy).toMatchObject({ id: 'copy', state: { mood: 'good' }, events: [first, reply] });
    expect(await client.session({ ...session.key, sessionId: 'copy' }).get()).toEqual(copy);
    expect((await session.fork(first?.id ?? '')).events).toEqual([first]);
    await expect(session.fork('none')).rejects.toMatchObject({ status: 400, serverCode: 'INVALID_REQUEST' });
    await expect(session.fork(first?.id ?? '', 'copy')).rejects.toMatchObject({ serverCode: 'SESSION_ALREADY_EXISTS' });
  });

  test('starts runs in a page without a secure context, which has no crypto.randomUUID', async () => {
    const sent: string[] = [];
    const network: Network = async (request) => {
      sent.push(((await request.json()) as { requestId: string }).requestId);
      return Response.json({ error: 'no', code: 'FORBIDDEN' }, { status: 403 });
    };
    const { session } = startServer([], { network });
    const getRandomValues = crypto.getRandomValues.bind(crypto);
    vi.stubGlobal('crypto', { getRandomValues });
    try {
      await expect(read(session.run('Hi'))).rejects.toMatchObject({ serverCode: 'FORBIDDEN' });
      const chat = new AgentChat(session);
      await chat.send('Hi');
      expect(chat.snapshot.error).toMatchObject({ serverCode: 'FORBIDDEN' });
    } finally {
      vi.unstubAllGlobals();
    }
    expect(new Set(sent).size).toBe(2);
    for (const id of sent) expect(id).toMatch(/^\d+(-\d+){3}$/);
  });

  test('reads and saves artifacts, whose names may have slashes', async () => {
    const save = new FunctionTool({
      name: 'look',
      description: 'Saves.',
      execute: (_args, context) => context.saveArtifact('a/b.txt', { text: 'hi' }),
    });
    const { session } = startServer(SCRIPT, { tools: [save] });
    await read(session.run('Save'));
    expect(await session.listArtifacts()).toEqual(['a/b.txt']);
    expect(await session.loadArtifact('a/b.txt')).toEqual({ text: 'hi' });
    expect(await session.listArtifactVersions('a/b.txt')).toEqual([0]);
    expect(await session.saveArtifact('a/b.txt', { text: 'again' })).toMatchObject({ version: 1 });
    expect(await session.loadArtifact('a/b.txt')).toEqual({ text: 'again' });
    await session.deleteArtifact('a/b.txt');
    expect(await session.listArtifacts()).toEqual([]);
  });
});

test.each([200, 404])('an answer %i whose connection is cut in its body is a ConnectionLostError', async (status) => {
  const network: Network = async (request, forward) => cutAfter(await forward(request), 5);
  const { session, server } = startServer([], { network });
  if (status === 200)
    await server.fetch(new Request('http://localhost/apps/app/users/ann/sessions/first', { method: 'POST' }));
  await expect(session.get()).rejects.toThrow(ConnectionLostError);
});

test('a request to a server that cannot be reached rejects with a ConnectionLostError that names its address', async () => {
  const client = new EventloomClient({
    baseUrl: 'http://127.0.0.1:9',
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  });
  const request = client.listApps();
  await expect(request).rejects.toThrow(ConnectionLostError);
  await expect(request).rejects.toThrow('no answer from http://127.0.0.1:9; is baseUrl an Eventloom server?');
});

test('filePart reads a file of a person as a part of a message and as an artifact', async () => {
  const { session, model } = startServer(['A note.']);
  const file = new File(['caf\u00e9 ', new Uint8Array(30_000)], 'note.txt', { type: 'text/plain' });
  const part = await filePart(file);
  expect(part.inlineData).toMatchObject({ mimeType: 'text/plain', displayName: 'note.txt' });
  expect(Buffer.from(part.inlineData?.data ?? '', 'base64')).toEqual(Buffer.from(await file.arrayBuffer()));
  await read(session.run([{ text: 'What is it?' }, part]));
  expect(model.requests[0]?.request.contents.at(-1)?.parts).toEqual([{ text: 'What is it?' }, part]);
  await session.saveArtifact(file.name, part);
  expect((await session.loadArtifact('note.txt'))?.inlineData?.data).toBe(part.inlineData?.data);
  expect(await filePart(new Blob(['a']))).toEqual({
    inlineData: { data: 'YQ==', mimeType: 'application/octet-stream' },
  });
});

test('filePart refuses a value that is not a file, and says what to write', async () => {
  const reading = Reflect.apply(filePart, undefined, ['note.txt']) as Promise<unknown>;
  await expect(reading).rejects.toThrow('filePart: expected a File or a Blob, got "note.txt"; write await filePart');
});

test.each([true, undefined, { confirmed: true }, { kind: 'input', value: true }, { kind: 'call', response: {} }])(
  'answerPart refuses the answer %j, and says what to write',
  (answer) => {
    const request = { id: 'call-1', name: 'adk_request_confirmation', kind: 'confirmation' };
    expect(() => Reflect.apply(answerPart, undefined, [request, answer])).toThrow("write kind: 'confirmation'");
  },
);
