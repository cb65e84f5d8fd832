import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { AgentChat, type ChatSnapshot } from './index.ts';
import { cutAfter, type Network, startServer } from '../fixtures/test-server.ts';

const shown = ({ conversation }: ChatSnapshot): string[] =>
  conversation.messages.map(
    ({ author, parts }) => `${author}: ${parts.map((part) => ('text' in part ? part.text : part.type)).join('|')}`,
  );

describe('a chat', () => {
  test('shows the message immediately, the reply as it grows, and then the whole reply', async () => {
    const { session } = startServer([{ chunks: ['Blue', ' sky.'] }]);
    const chat = new AgentChat(session);
    const seen: string[] = [];
    const invocations = new Set<string | undefined>();
    chat.subscribe(() => {
      seen.push(`${chat.snapshot.status} ${shown(chat.snapshot).join(', ')}`);
      invocations.add(chat.snapshot.events[0]?.invocationId);
    });
    await chat.send('Hi');
    // Until the server has named the run, the message belongs to none.
    expect([...invocations]).toEqual([
      undefined,
      expect.stringMatching(/^local-/),
      expect.not.stringMatching(/^local-/),
    ]);
    const { conversation, events } = chat.snapshot;
    expect(events.map(({ author }) => author)).toEqual(['user', 'helper']);
    expect(new Set([...events, ...conversation.messages].map(({ invocationId }) => invocationId)).size).toBe(1);
    expect([...new Set(seen)]).toEqual([
      'running ',
      'running user: Hi',
      'running user: Hi, helper: Blue',
      'running user: Hi, helper: Blue sky.',
      'idle user: Hi, helper: Blue sky.',
    ]);
  });

  test('shows a message as failed if the server refuses it, also after the next one, until it is discarded or the session is read', async () => {
    let isLoggedOut = false;
    const network: Network = async (request, forward) =>
      isLoggedOut ? Response.json({ error: 'log in', code: 'UNAUTHENTICATED' }, { status: 401 }) : forward(request);
    const { session } = startServer(['One.', 'Three.'], { network });
    const chat = new AgentChat(session);
    const seen = new Set<string>();
    const statuses = (): string =>
      chat.snapshot.conversation.messages
        .map(({ status, parts: [part] }) => `${part && 'text' in part ? part.text : ''} ${status}`)
        .join(', ');
    chat.subscribe(() => seen.add(statuses()));
    await chat.send('one');
    isLoggedOut = true;
    await chat.send('two');
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { status: 401 } });
    isLoggedOut = false;
    await chat.send('three');
    expect([...seen]).toEqual([
      '',
      'one sending',
      'one complete',
      expect.stringMatching('one complete, One. '),
      'one complete, One. complete',
      'one complete, One. complete, two sending',
      'one complete, One. complete, two failed',
      'one complete, One. complete, two failed, three sending',
      'one complete, One. complete, two failed, three complete',
      expect.stringMatching(', Three. '),
      'one complete, One. complete, two failed, three complete, Three. complete',
    ]);
    expect(chat.snapshot.events).toHaveLength(4);
    const before = chat.snapshot.conversation.messages;
    for (const { id } of before) chat.discard(id);
    const [one, reply, , ...others] = before;
    expect(chat.snapshot.conversation.messages).toEqual([one, reply, ...others]);
  });

  test('reads the session and follows the active run', async () => {
    const gate = new Gate();
    const look = new FunctionTool({ name: 'look', description: 'Looks.', execute: () => ({ color: 'blue' }) });
    const script: readonly ScriptedStep[] = [{ calls: [{ name: 'look' }] }, { chunks: ['Blue', gate, ' sky.'] }];
    const { session } = startServer(script, { tools: [look] });
    const first = new AgentChat(session);
    const sending = first.send('Hi');
    await gate.reached;
    first.close();
    const second = new AgentChat(session);
    const followed = new Promise<void>((resolve) => {
      second.subscribe(() => {
        if (shown(second.snapshot).includes('helper: Blue')) resolve();
      });
    });
    const loading = second.load();
    await followed;
    expect(second.snapshot.status).toBe('running');
    gate.open();
    await Promise.all([sending, loading]);
    expect(second.snapshot).toMatchObject({ status: 'idle', error: undefined });
    expect(shown(second.snapshot)).toEqual(['user: Hi', 'helper: call', 'helper: Blue sky.']);
    expect(new Set(second.snapshot.events.map(({ id }) => id)).size).toBe(4);
    expect(second.snapshot.events).toHaveLength(4);
  });

  test('is empty for a session that does not exist, and gets no error that a browser would write to its console', async () => {
    const statuses: number[] = [];
    const network: Network = async (request, forward) => {
      const answer = await forward(request);
      statuses.push(answer.status);
      return answer;
    };
    const { session } = startServer(['Hello.'], { network });
    const chat = new AgentChat(session, { createSession: true });
    await chat.load();
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined, events: [] });
    await chat.send('Hi');
    // The newest event then belongs to no run.
    await session.updateState({ seen: true });
    await chat.load();
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined, conversation: { state: { seen: true } } });
    expect(statuses.filter((status) => status >= 400)).toEqual([]);
  });

  test('sends answers to requests, and shows the call as completed', async () => {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: true,
      execute: () => ({ paid: true }),
    });
    const script: readonly ScriptedStep[] = [{ calls: [{ name: 'pay' }] }, { text: 'Paid.' }, { text: 'Done.' }];
    const { session } = startServer(script, { tools: [pay] });
    const chat = new AgentChat(session);
    await chat.send('Pay');
    const [request] = chat.snapshot.conversation.requests;
    expect(request).toMatchObject({ kind: 'confirmation' });
    if (!request) return;
    await chat.answer([request, { kind: 'confirmation', confirmed: true }]);
    expect(chat.snapshot.conversation.requests).toEqual([]);
    const calls = chat.snapshot.conversation.messages.flatMap(({ parts }) =>
      parts.filter((part) => part.type === 'call'),
    );
    expect(calls).toMatchObject([{ name: 'pay', status: 'completed', response: { paid: true } }]);
    // The stored session shows the same as the stream.
    const again = new AgentChat(session);
    await again.load();
    expect(shown(again.snapshot)).toEqual(shown(chat.snapshot));
  });

  test('shows a request again when its answer is refused, and sends a valid answer once', async () => {
    const ask = new FunctionTool({
      name: 'ask',
      description: 'Asks.',
      execute: (_args, context) =>
        context.getInput() ??
        context.requestInput({ message: 'Name?', responseSchema: { type: 'string', minLength: 3 } }),
    });
    const script: readonly ScriptedStep[] = [{ calls: [{ name: 'ask' }] }, { text: 'Hello.' }, { text: 'Hello.' }];
    const { session, requests } = startServer(script, { tools: [ask] });
    const chat = new AgentChat(session);
    await chat.send('Hi');
    const { conversation: before, events } = chat.snapshot;
    const [request] = before.requests;
    if (!request) return expect.unreachable();
    await chat.answer([request, { kind: 'input', value: 'Al' }]);
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { status: 400 } });
    expect(chat.snapshot.conversation).toEqual(before);
    expect(chat.snapshot.events).toEqual(events);
    await chat.answer([request, { kind: 'input', value: 'Alice' }]);
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined, conversation: { requests: [] } });
    expect(shown(chat.snapshot).at(-1)).toBe('helper: Hello.');
    expect(requests.filter((each) => each === 'POST /run_sse')).toHaveLength(3);
    const again = new AgentChat(session);
    await again.load();
    expect(shown(again.snapshot)).toEqual(shown(chat.snapshot));
    expect(again.snapshot.events.map(({ invocationId }) => invocationId)).toEqual(
      chat.snapshot.events.map(({ invocationId }) => invocationId),
    );
  });

  describe('with a request for a confirmation', () => {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: true,
      execute: () => ({ paid: true }),
    });
    const script: readonly ScriptedStep[] = [{ calls: [{ name: 'pay' }] }, { text: 'Wait.' }, { text: 'Done.' }];
    const start = async () => {
      const { session, requests } = startServer([...script, 'Hello.'], { tools: [pay] });
      const chat = new AgentChat(session);
      await chat.send('Pay');
      const [request] = chat.snapshot.conversation.requests;
      if (!request) return expect.unreachable();
      return { chat, session, request, requests };
    };
    const yes = { kind: 'confirmation', confirmed: true } as const;

    test('reads the session again when its answer is refused because somebody else has answered', async () => {
      const { chat, session, request } = await start();
      const other = new AgentChat(session);
      await other.load();
      await other.answer([request, yes]);
      await chat.answer([request, { ...yes, confirmed: false }]);
      expect(chat.snapshot).toMatchObject({ status: 'idle', error: { status: 400 }, failed: 'run' });
      expect(chat.snapshot.conversation.requests).toEqual([]);
      expect(shown(chat.snapshot)).toEqual(shown(other.snapshot));
    });

    test('sends one answer when two are given, and says meanwhile which request is being answered', async () => {
      const { chat, request, requests } = await start();
      const answering = new Set<string>();
      chat.subscribe(() => answering.add([...chat.snapshot.answering].join()));
      await Promise.all([chat.answer([request, yes]), chat.answer([request, yes])]);
      expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined, answering: new Set() });
      expect(answering).toEqual(new Set(['', request.id]));
      expect(requests.filter((each) => each === 'POST /run_sse')).toHaveLength(2);
    });

    test('does not send an answer of another kind, and the request still waits', async () => {
      const { chat, request, requests } = await start();
      const sent = chat.answer([request, { kind: 'input', value: true }]);
      await expect(sent).rejects.toThrow('answer: expected the kind of its request, got "input"');
      expect(requests.filter((each) => each === 'POST /run_sse')).toHaveLength(1);
      expect(chat.snapshot).toMatchObject({ conversation: { requests: [request] }, answering: new Set() });
    });

    test('has no request of a run that begins to wait while it is being stopped', async () => {
      const network: Network = async (request, forward) => {
        if (request.method === 'DELETE') await expect.poll(() => chat.snapshot.status).toBe('idle');
        return forward(request);
      };
      const { session } = startServer([...script, 'Hello.'], { tools: [pay], network });
      let stopping: Promise<void> | undefined;
      const chat: AgentChat = new AgentChat(session, {
        onEvent: ({ longRunningToolIds = [] }) => {
          if (longRunningToolIds.length > 0) stopping ??= chat.stop();
        },
      });
      await chat.send('Pay');
      expect(chat.snapshot.conversation.requests).toHaveLength(1);
      await stopping;
      const { messages, requests } = chat.snapshot.conversation;
      expect(requests).toEqual([]);
      const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.type === 'call'));
      expect(calls).toMatchObject([{ name: 'pay', status: 'failed', response: { error: 'cancelled' } }]);
    });

    test('reads only the newest events when it reads the session again, and all if they do not follow the known ones', async () => {
      const read: number[] = [];
      const network: Network = async (request, forward) => {
        const response = await forward(request);
        if (request.method === 'GET' && /\/sessions\/[^/]+$/.test(new URL(request.url).pathname)) {
          const session = (await response.clone().json()) as { readonly events?: readonly unknown[] } | null;
          read.push(session?.events?.length ?? 0);
        }
        return response;
      };
      const turns = Array.from({ length: 120 }, (_, turn) => `reply ${turn}`);
      const { session } = startServer(turns, { network });
      const send = async (count: number): Promise<void> => {
        for (let turn = 0; turn < count; turn++) for await (const _ of session.run('next'));
      };
      const chat = new AgentChat(session);
      await send(60);
      await chat.load();
      await send(20);
      await chat.load();
      expect(read).toEqual([120, 50]);
      const fresh = new AgentChat(session);
      await fresh.load();
      expect(chat.snapshot).toEqual(fresh.snapshot);
      await send(40);
      await chat.load();
      expect(read).toEqual([120, 50, 160, 50, 240]);
      await fresh.load();
      expect(chat.snapshot).toEqual(fresh.snapshot);
    });

    test('reads the session again on refresh, but only if another page has changed it', async () => {
      const { chat, session, request, requests } = await start();
      await chat.load();
      requests.length = 0;
      await chat.refresh();
      expect(requests).toHaveLength(1);
      const other = new AgentChat(session);
      await other.load();
      await other.answer([request, yes]);
      await chat.refresh();
      expect(chat.snapshot).toMatchObject({ status: 'idle', conversation: { requests: [] } });
      expect(shown(chat.snapshot)).toEqual(shown(other.snapshot));
    });
  });

  test('reads the session on refresh if another page wrote before its own newest message, and not again afterwards', async () => {
    let reads = 0;
    const network: Network = async (request, forward) => {
      if (request.method === 'GET') reads++;
      return forward(request);
    };
    const { session } = startServer((_request, { index }) => `reply ${index}`, { network });
    const [chat, other] = [new AgentChat(session), new AgentChat(session)];
    await chat.load();
    await chat.send('zero');
    await chat.refresh();
    await other.load();
    await other.send('from another page');
    await chat.send('one');
    await chat.refresh();
    const all = ['zero', 'reply 0', 'from another page', 'reply 1', 'one', 'reply 2'];
    expect(shown(chat.snapshot).map((each) => each.replace(/^.*: /, ''))).toEqual(all);
    reads = 0;
    await chat.refresh();
    await chat.send('two');
    await chat.refresh();
    expect(reads).toBe(2);
    expect(shown(chat.snapshot)).toHaveLength(8);
  });

  describe.each([
    ['load', (chat: AgentChat) => chat.load()],
    ['refresh', (chat: AgentChat) => chat.refresh()],
  ])('shows after %s', (_name, read) => {
    const replies = ['one', 'two', 'three'];

    test.each([
      ['an empty session that took the place of its own', 0, 0],
      ['a session that took the place of its own, with its first turn', 0, 2],
      ['a session that took the place of its own, with its last turn', 4, 6],
    ])('%s', async (_title, from, to) => {
      const { session, client } = startServer(replies);
      for (let turn = 0; turn < 2; turn++) for await (const _ of session.run('next'));
      const chat = new AgentChat(session);
      await chat.load();
      await chat.send('next');
      await chat.load();
      const { events } = await session.get();
      await session.delete();
      await client.createSession(session.key, { sessionId: session.key.sessionId, events: events.slice(from, to) });
      await read(chat);
      const fresh = new AgentChat(session);
      await fresh.load();
      expect(fresh.snapshot.events).toHaveLength(to - from);
      expect(chat.snapshot).toEqual(fresh.snapshot);
    });

    test('a session that took the place of its own, with a changed message', async () => {
      const { session, client } = startServer(replies);
      for await (const _ of session.run('next'));
      const chat = new AgentChat(session);
      await chat.load();
      const { events } = await session.get();
      const changed = events.map((event, at) =>
        at === 0 ? { ...event, content: { role: 'user', parts: [{ text: 'changed' }] } } : event,
      );
      await session.delete();
      await client.createSession(session.key, { sessionId: session.key.sessionId, events: changed });
      await read(chat);
      expect(shown(chat.snapshot)).toEqual(['user: changed', 'helper: one']);
    });

    test('a session without the newest turn, which is its own', async () => {
      const { session, client } = startServer(replies);
      for await (const _ of session.run('next'));
      const chat = new AgentChat(session);
      await chat.load();
      await chat.send('again');
      const { events } = await session.get();
      await session.delete();
      await client.createSession(session.key, { sessionId: session.key.sessionId, events: events.slice(0, 2) });
      await read(chat);
      expect(shown(chat.snapshot)).toEqual(['user: next', 'helper: one']);
    });
  });

  test('shows on refresh what another page wrote to a session that did not exist', async () => {
    const { session } = startServer(['reply']);
    const [chat, other] = [new AgentChat(session), new AgentChat(session)];
    await chat.load();
    await chat.refresh();
    expect(shown(chat.snapshot)).toEqual([]);
    await other.send('from another page');
    await chat.refresh();
    expect(shown(chat.snapshot)).toEqual(['user: from another page', 'helper: reply']);
  });

  test('is empty on refresh after another page deleted its session, and creates it again with the next message', async () => {
    const { session } = startServer((_request, { index }) => `reply ${index}`, { autoCreateSession: false });
    const chat = new AgentChat(session, { createSession: true });
    await chat.load();
    await chat.send('one');
    await session.delete();
    await chat.refresh();
    expect(shown(chat.snapshot)).toEqual([]);
    await chat.send('two');
    expect(shown(chat.snapshot)).toEqual(['user: two', 'helper: reply 1']);
  });

  test('creates a session that another page deleted with the message after the refused one', async () => {
    const { session } = startServer((_request, { index }) => `reply ${index}`, { autoCreateSession: false });
    const chat = new AgentChat(session, { createSession: true });
    await chat.send('one');
    await session.delete();
    await chat.send('two');
    expect(chat.snapshot.error).toMatchObject({ serverCode: 'SESSION_NOT_FOUND' });
    await chat.send('three');
    expect(chat.snapshot.error).toBeUndefined();
    expect(shown(chat.snapshot).at(-1)).toBe('helper: reply 1');
  });

  test('stays as it is on refresh if the server cannot be asked', async () => {
    let isDown = false;
    const network: Network = async (request, forward) => {
      if (isDown) throw new TypeError('failed to fetch');
      return forward(request);
    };
    const { session } = startServer(['reply'], { network });
    const chat = new AgentChat(session);
    await chat.send('one');
    const before = chat.snapshot;
    isDown = true;
    await chat.refresh();
    expect(chat.snapshot).toBe(before);
  });

  test('reads a session on refresh that another page continued by more events than it asks for', async () => {
    const { session } = startServer((_request, { index }) => `reply ${index}`);
    const [chat, other] = [new AgentChat(session), new AgentChat(session)];
    await other.send('first');
    await chat.load();
    await other.send('second');
    for (let count = 0; count < 30; count++) await chat.send('more');
    await chat.refresh();
    expect(shown(chat.snapshot)[2]).toBe('user: second');
  });

  test('shows the present state, which other sessions of the user wrote too, and the changes of its runs after it', async () => {
    const note = new FunctionTool({
      name: 'note',
      description: 'Notes.',
      execute: (_args, { state }) => {
        state.set('user:notes', [...state.get<string[]>('user:notes', []), 'x']);
        return {};
      },
    });
    const step: ScriptedStep = { calls: [{ name: 'note' }] };
    const { session, client } = startServer([step, 'Noted.', step, 'Noted.', step, 'Noted.'], { tools: [note] });
    await session.create({ plan: 'gold' });
    const chat = new AgentChat(session);
    await chat.send('Note');
    await new AgentChat(client.session({ ...session.key, sessionId: 'other' })).send('Note');
    await chat.load();
    expect(chat.snapshot.conversation.state).toEqual({ plan: 'gold', 'user:notes': ['x', 'x'] });
    await chat.send('Note');
    expect(chat.snapshot.conversation.state).toEqual({ plan: 'gold', 'user:notes': ['x', 'x', 'x'] });
  });

  test('reports that it reconnects', async () => {
    let cuts = 0;
    const network: Network = async (request, forward) => {
      const answer = await forward(request);
      return cuts++ === 0 ? cutAfter(answer, 400) : answer;
    };
    const chat = new AgentChat(startServer([{ chunks: ['Blue', ' sky.'] }], { network }).session);
    const states = new Set<string>();
    chat.subscribe(() => states.add(chat.snapshot.status));
    await chat.send('Hi');
    expect([...states]).toEqual(['running', 'reconnecting', 'idle']);
    expect(shown(chat.snapshot)).toEqual(['user: Hi', 'helper: Blue sky.']);
  });

  test('keeps the error of an action until the next one', async () => {
    const { session } = startServer([{ error: new Error('broken') }, { text: 'Hello.' }]);
    const chat = new AgentChat(session);
    await chat.send('Hi');
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { code: 'SERVER_RESPONSE' } });
    await chat.send('Again');
    expect(chat.snapshot.error).toBeUndefined();
  });

  test('stops a run', async () => {
    const gate = new Gate();
    const { session } = startServer([{ chunks: ['Blue', gate, ' sky.'] }]);
    const chat = new AgentChat(session);
    const sending = chat.send('Hi');
    await gate.reached;
    await chat.stop();
    await sending;
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { serverCode: 'RUN_ABORTED' } });
    expect(chat.snapshot.conversation.messages.at(-1)).toMatchObject({ status: 'interrupted' });
  });

  /** Delays each request until the gate is open, and fails like `fetch` if the request is aborted meanwhile. */
  const delayed =
    (gate: Gate): Network =>
    async (request, forward) => {
      await gate.pass(request.signal);
      return forward(request);
    };

  test.each([{ createSession: true }, {}])(
    'sends two messages in their order, and shows both replies (%j)',
    async (options) => {
      const gate = new Gate();
      const { session } = startServer([{ chunks: ['Blue', ' sky.'] }, 'Green.'], { network: delayed(gate) });
      const chat = new AgentChat(session, options);
      const sending = Promise.all([chat.send('one'), chat.send('two')]);
      await gate.reached;
      gate.open();
      await sending;
      const all = ['user: one', 'helper: Blue sky.', 'user: two', 'helper: Green.'];
      expect(shown(chat.snapshot).toSorted()).toEqual(all.toSorted());
      expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined });
      expect(chat.snapshot.conversation.messages.every(({ status }) => status === 'complete')).toBe(true);
      await chat.load();
      expect(shown(chat.snapshot)).toEqual(all);
    },
  );

  test('continues to show the reply of a run after a further message, which the server queues', async () => {
    const gate = new Gate();
    const { session } = startServer([{ chunks: ['Blue', gate, ' sky.'] }, 'Green.']);
    const chat = new AgentChat(session);
    const first = chat.send('one');
    await gate.reached;
    await expect.poll(() => shown(chat.snapshot)).toEqual(['user: one', 'helper: Blue']);
    const second = chat.send('two');
    let isFirstEnded = false;
    void first.then(() => (isFirstEnded = true));
    await Promise.resolve();
    expect(isFirstEnded).toBe(false);
    gate.open();
    await Promise.all([first, second]);
    expect(shown(chat.snapshot)).toEqual(['user: one', 'helper: Blue sky.', 'user: two', 'helper: Green.']);
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined });
  });

  test.each([{ createSession: true }, {}])('sends a message to its end although it is closed (%j)', async (options) => {
    const gate = new Gate();
    const { session } = startServer(['Hello.'], { network: delayed(gate) });
    const chat = new AgentChat(session, options);
    const sending = chat.send('Hi');
    await gate.reached;
    chat.close();
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined });
    gate.open();
    await sending;
    const other = new AgentChat(session);
    await other.load();
    expect(shown(other.snapshot)).toEqual(['user: Hi', 'helper: Hello.']);
  });

  test('shows a message that was being sent when it is loaded, and its error if it cannot be sent', async () => {
    const gate = new Gate();
    let isBroken = false;
    const network: Network = async (request, forward) => {
      if (isBroken && request.method === 'POST') throw new TypeError('fetch failed');
      return delayed(gate)(request, forward);
    };
    const { session } = startServer(['Hello.'], { network, retry: { attempts: 2 } });
    const chat = new AgentChat(session);
    const sending = chat.send('Hi');
    await gate.reached;
    const loading = chat.load();
    gate.open();
    await Promise.all([sending, loading]);
    expect(shown(chat.snapshot)).toEqual(['user: Hi', 'helper: Hello.']);
    isBroken = true;
    await Promise.all([chat.send('Lost'), chat.load()]);
    expect(shown(chat.snapshot)).toEqual(['user: Hi', 'helper: Hello.']);
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { code: 'CONNECTION_LOST' }, failed: 'run' });
    await chat.rewind(chat.snapshot.events[0]?.invocationId ?? '');
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { code: 'CONNECTION_LOST' }, failed: 'session' });
    await chat.load();
    expect(chat.snapshot).toMatchObject({ error: undefined, failed: undefined });
  });

  test('reads the session again after a lost connection, and before the next message if it could not be read', async () => {
    let failures = 0;
    const network: Network = async (request, forward) => {
      if (request.method === 'GET' && failures-- > 0) throw new TypeError('fetch failed');
      return forward(request);
    };
    const { session } = startServer(['Hello.', 'Fine.'], { network });
    await new AgentChat(session).send('Hi');
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const load = async (chat: AgentChat): Promise<void> => {
      let isLoaded = false;
      const loading = chat.load().finally(() => (isLoaded = true));
      while (!isLoaded) await vi.advanceTimersByTimeAsync(100);
      await loading;
    };
    failures = 2;
    const chat = new AgentChat(session);
    await load(chat);
    expect(shown(chat.snapshot)).toEqual(['user: Hi', 'helper: Hello.']);
    failures = 100;
    const other = new AgentChat(session);
    await load(other);
    expect(other.snapshot).toMatchObject({ status: 'idle', failed: 'session', events: [] });
    failures = 0;
    vi.useRealTimers();
    await other.send('How are you?');
    expect(shown(other.snapshot)).toEqual(['user: Hi', 'helper: Hello.', 'user: How are you?', 'helper: Fine.']);
  });

  test('shows that a message has not reached the server yet', async () => {
    let failures = 2;
    const network: Network = async (request, forward) => {
      if (failures-- > 0) throw new TypeError('fetch failed');
      return forward(request);
    };
    const chat = new AgentChat(startServer(['Hello.'], { network }).session);
    const states = new Set<string>();
    chat.subscribe(() => states.add(chat.snapshot.status));
    await chat.send('Hi');
    expect([...states]).toEqual(['running', 'reconnecting', 'idle']);
  });

  test('has no error of a run that a later message of its own interrupts', async () => {
    const gate = new Gate();
    const { session } = startServer([{ chunks: ['Blue', gate, ' sky.'] }, 'Fine.']);
    const chat = new AgentChat(session, { run: { onBusy: 'interrupt' } });
    const first = chat.send('Hi');
    await gate.reached;
    await Promise.all([first, chat.send('Wait')]);
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined, failed: undefined });
    expect(shown(chat.snapshot)).toContain('helper: Fine.');
  });

  test('sends a message after the session was read, if that had begun', async () => {
    const { session } = startServer(['Hello.', 'Fine.']);
    await new AgentChat(session).send('Hi');
    const chat = new AgentChat(session);
    await Promise.all([chat.load(), chat.send('How are you?')]);
    expect(shown(chat.snapshot)).toEqual(['user: Hi', 'helper: Hello.', 'user: How are you?', 'helper: Fine.']);
  });

  test.each([{ createSession: true }, {}])(
    'stops a run whose message has not reached the server (%j)',
    async (options) => {
      const gate = new Gate();
      const reached = new Gate();
      const network: Network = async (request, forward) => {
        if (request.method === 'POST') await gate.pass(request.signal);
        return forward(request);
      };
      const { session } = startServer([{ chunks: ['Blue', reached, ' sky.'] }], { network });
      const chat = new AgentChat(session, options);
      const sending = chat.send('Hi');
      await gate.reached;
      const stopping = chat.stop();
      gate.open();
      await Promise.all([sending, stopping]);
      expect(chat.snapshot).toMatchObject({ status: 'idle', error: { serverCode: 'RUN_ABORTED' } });
    },
  );

  test.each(['before', 'after'])(
    'creates the session again if the connection is cut %s the server has created it',
    async (moment) => {
      let cuts = 0;
      const network: Network = async (request, forward) => {
        const isCut = request.url.endsWith('/sessions/first') && request.method === 'POST' && cuts++ === 0;
        const answer = isCut && moment === 'before' ? undefined : await forward(request);
        if (isCut || !answer) throw new TypeError('fetch failed');
        return answer;
      };
      const { session, requests } = startServer(['Hello.', 'Fine.'], { network });
      const chat = new AgentChat(session, { createSession: true });
      await chat.send('Hi');
      await chat.send('How are you?');
      expect(chat.snapshot).toMatchObject({ status: 'idle', error: undefined });
      expect(shown(chat.snapshot)).toEqual(['user: Hi', 'helper: Hello.', 'user: How are you?', 'helper: Fine.']);
      expect(requests.filter((each) => each.endsWith('/sessions/first'))).toHaveLength(moment === 'before' ? 1 : 2);
    },
  );

  test('sends a message after the session was rewound, if that had begun', async () => {
    const gate = new Gate();
    const network: Network = async (request, forward) => {
      if (request.url.endsWith('/rewind')) await gate.pass();
      return forward(request);
    };
    const { session } = startServer(['Hello.', 'Fine.'], { network });
    const chat = new AgentChat(session);
    await chat.send('Hi');
    const rewinding = chat.rewind(chat.snapshot.events[0]?.invocationId ?? '');
    await gate.reached;
    const sending = chat.send('How are you?');
    gate.open();
    await Promise.all([rewinding, sending]);
    await chat.load();
    expect(shown(chat.snapshot)).toEqual(['user: How are you?', 'helper: Fine.']);
  });

  test('stops its own message, which is queued, before the run of another client that it follows', async () => {
    const gate = new Gate();
    const { session } = startServer([{ chunks: ['Blue', gate, ' sky.'] }, 'Hello.']);
    const other = new AgentChat(session).send('one');
    await gate.reached;
    const chat = new AgentChat(session);
    const loading = chat.load();
    await expect.poll(() => chat.snapshot.status).toBe('running');
    const sending = chat.send('two');
    await chat.stop();
    await Promise.all([other, loading, sending]);
    const { events } = await session.get();
    expect(events.map(({ content }) => content?.parts?.[0]?.text)).not.toContain('two');
    expect(chat.snapshot).toMatchObject({ status: 'idle', error: { serverCode: 'RUN_ABORTED' } });
  });

  test('is loaded although the server does not answer the message before', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const network: Network = async (request, forward) =>
      request.url.endsWith('/run_sse') ? new Promise(() => undefined) : forward(request);
    const { session } = startServer([], { network });
    const chat = new AgentChat(session);
    void chat.send('Hi');
    const loading = chat.load();
    await vi.advanceTimersByTimeAsync(5000);
    await loading;
    expect(chat.snapshot).toMatchObject({ status: 'idle', events: [] });
  });

  test('rewinds to before a run', async () => {
    const { session } = startServer([{ text: 'One.' }, { text: 'Two.' }]);
    const chat = new AgentChat(session);
    await chat.send('1');
    await chat.send('2');
    await chat.rewind(chat.snapshot.conversation.messages.at(-1)?.invocationId ?? '');
    expect(shown(chat.snapshot)).toEqual(['user: 1', 'helper: One.']);
  });
});

test.each([
  [undefined, {}, 'AgentChat: expected a session, got undefined'],
  ['first', {}, 'AgentChat: expected a session, got "first"'],
  [{}, 'first', 'AgentChat: expected an object, got "first"'],
])('a chat with the session %j and the options %j is refused', (session, options, message) => {
  expect(() => new AgentChat(session as never, options as never)).toThrow(
    `${message}; write new AgentChat(client.session({ appName, userId, sessionId }))`,
  );
});
