import type { Event } from '@eventloom/core';
import { Gate, type ScriptedStep } from '@eventloom/testing';
import { FunctionTool } from '@eventloom/tools';
import { describe, expect, test } from 'vitest';
import { startServer, type TestServer } from '../fixtures/test-server.ts';
import { type ClientSession, type Conversation, emptyConversation, EventloomClient, reduceEvents } from '../index.ts';
import { AgentChat } from './index.ts';

const YES = { kind: 'confirmation', confirmed: true } as const;

/** Returns the messages and requests of a chat, without ids and times, which differ for a message that a client sent itself. */
function shownIn({ messages, requests }: Conversation) {
  return {
    messages: messages.map(({ author, status, parts }) => ({
      author,
      status,
      parts: parts.map((part) => (part.type === 'call' ? { ...part, startedAt: 0, endedAt: 0 } : part)),
    })),
    requests: requests.map(({ id }) => id),
  };
}

/** Another client of the session of a server, whose network can be cut. */
function secondClient({ server, session }: TestServer) {
  const cuts = new Set<() => void>();
  let isUp = Promise.resolve();
  let up = (): void => undefined;
  const client = new EventloomClient({
    baseUrl: 'http://localhost',
    retry: { firstDelayMs: 0, maxDelayMs: 0 },
    fetch: async (url, init) => {
      await isUp;
      const response = await server.fetch(new Request(url, init));
      const { status, headers, body } = response;
      const through = new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) => void cuts.add(() => controller.error(new TypeError('terminated'))),
      });
      return new Response(body?.pipeThrough(through) ?? null, { status, headers });
    },
  });
  return {
    session: client.session(session.key),
    cut(): void {
      ({ promise: isUp, resolve: up } = Promise.withResolvers<void>());
      for (const cut of cuts) cut();
      cuts.clear();
    },
    restore: (): void => up(),
  };
}

/** A server whose tool waits for a person, and then until its gate is opened. */
function startPaying(resumable: boolean) {
  const gates = { asked: new Gate(), paid: new Gate() };
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    requireConfirmation: true,
    execute: async () => {
      await gates.paid.pass();
      return { paid: true };
    },
  });
  const steps: readonly ScriptedStep[] = [
    { gate: gates.asked, calls: [{ name: 'pay' }] },
    ...(resumable ? [] : ['Please approve.']),
    'Paid.',
  ];
  return { ...startServer(steps, { tools: [pay], resumable }), ...gates };
}

function callsIn({ snapshot }: AgentChat) {
  return snapshot.conversation.messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'call'));
}

async function answerRequest(chat: AgentChat): Promise<void> {
  const [request] = chat.snapshot.conversation.requests;
  if (!request) return expect.unreachable();
  await chat.answer([request, YES]);
}

async function follow(session: ClientSession, id: string): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of session.follow(id)) events.push(event);
  return events;
}

test('a client that was disconnected while another one answered shows the answer as soon as it is connected again', async () => {
  const server = startPaying(true);
  const { session, asked, paid } = server;
  const second = secondClient(server);
  const [chat, other] = [new AgentChat(session), new AgentChat(second.session)];
  const sending = chat.send('Pay');
  await asked.reached;
  const loading = other.load();
  await expect.poll(() => other.snapshot.status).toBe('running');
  second.cut();
  asked.open();
  await sending;
  const answering = answerRequest(chat);
  await paid.reached;
  second.restore();
  await expect.poll(() => callsIn(other)).toMatchObject([{ name: 'pay', status: 'running' }]);
  expect(other.snapshot).toMatchObject({ status: 'running', conversation: { requests: [] } });
  paid.open();
  await Promise.all([answering, loading]);
  expect(callsIn(other)).toMatchObject([{ name: 'pay', status: 'completed' }]);
  expect(shownIn(other.snapshot.conversation)).toEqual(shownIn(chat.snapshot.conversation));
  expect(other.snapshot.events.slice(1).map(({ author }) => author)).toMatchObject([
    'helper',
    'helper',
    'helper',
    'user',
    'helper',
    'helper',
  ]);
});

describe.each([true, false])('a client that follows runs with answers (resumable: %j)', (resumable) => {
  test('shows the session, wherever it begins, in the process of the run and in another one', async () => {
    const server = startPaying(resumable);
    const { session, sessionService, asked, paid } = server;
    asked.open();
    const chat = new AgentChat(session);
    await chat.send('Pay');
    const answering = answerRequest(chat);
    await paid.reached;
    const { events: begun } = await session.get();
    const running = begun.at(-1)?.invocationId ?? '';
    // A reader of a run that is in progress.
    const reading = follow(session, running);
    paid.open();
    await answering;
    const { events } = await session.get();
    const whole = shownIn(reduceEvents(emptyConversation, events));
    expect(whole).toEqual(shownIn(chat.snapshot.conversation));
    expect(whole.requests).toEqual([]);
    const before = events.filter(({ invocationId }) => invocationId !== running);
    const message = events.filter(({ content }) => content?.parts?.[0]?.text === 'Pay');
    const known = reduceEvents(emptyConversation, resumable ? message : before);
    expect(shownIn(reduceEvents(known, await reading))).toEqual(whole);
    const elsewhere = startServer([], { sessionService }).session;
    for (const place of [session, elsewhere])
      for (const [index, { invocationId }] of events.entries()) {
        const read = reduceEvents(emptyConversation, events.slice(0, index + 1));
        const followed = await follow(place, invocationId);
        const rest = events.slice(index).filter((event) => event.invocationId !== invocationId);
        expect(shownIn(reduceEvents(reduceEvents(read, followed), rest))).toEqual(whole);
      }
  });
});
