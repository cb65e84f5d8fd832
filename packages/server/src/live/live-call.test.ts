import type { Event, LiveLlmResponse } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedLiveModel, type ScriptedLiveStep } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import { ServerBusyError } from '../errors/server-busy-error.ts';
import type { LiveCall } from './live-call.ts';
import { LiveCalls } from './live-calls.ts';
import type { LiveSocket } from './live-socket.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const BEAT_MS = DEFAULT_LIMITS.heartbeatMs;
const END: LiveLlmResponse = { turnComplete: true };
const audio = { blob: { mimeType: 'audio/pcm', data: 'A'.repeat(1_000_000) } };

/** Keeps what it is sent. */
class FakeSocket implements LiveSocket {
  readonly sent: (string | Uint8Array)[] = [];
  readonly done: string[] = [];
  readonly tellsTaken: boolean;
  readonly closed = Promise.withResolvers<{ code: number; reason: string }>();
  isClosed = false;
  ping?: () => void;
  pause?: () => void;
  resume?: () => void;
  #arrival = Promise.withResolvers<void>();

  constructor(isCapable: boolean) {
    this.tellsTaken = isCapable;
    if (!isCapable) return;
    for (const act of ['ping', 'pause', 'resume'] as const) this[act] = () => void this.done.push(act);
  }

  send(frame: string | Uint8Array): void {
    this.sent.push(frame);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }

  close(code: number, reason: string): void {
    this.isClosed = true;
    this.closed.resolve({ code, reason });
  }

  /** Settles when so many frames were sent. */
  async has(count: number): Promise<void> {
    while (this.sent.length < count) await this.#arrival.promise;
  }

  /** Settles when the client was told that the model's turn is over. */
  async endsTurn(): Promise<void> {
    for (let count = 1; !String(this.sent.at(-1)).includes('turnComplete'); count++) await this.has(count);
  }

  get size(): number {
    return this.sent.reduce((size, frame) => size + frame.length, 0);
  }
}

async function setup(
  steps: readonly ScriptedLiveStep[],
  {
    isCapable = true,
    answersPings = false,
    maxWaiting = 1000,
    maxUnconfirmed = DEFAULT_LIMITS.maxLiveUnconfirmedBytes,
    others = [] as ScriptedLiveStep[][],
  } = {},
) {
  const platform = fixedPlatform();
  const sessionService = new InMemorySessionService({ platform });
  await sessionService.createSession(KEY);
  const model = new ScriptedLiveModel([steps, ...others]);
  const agent = new LlmAgent({ name: 'speaker', model });
  const runner = new Runner({ appName: 'app', agent, sessionService, platform });
  const reported: unknown[] = [];
  const limits = { ...DEFAULT_LIMITS, maxLiveWaitingBytes: maxWaiting, maxLiveUnconfirmedBytes: maxUnconfirmed };
  const calls = new LiveCalls(platform, limits, (error) => reported.push(error));
  const socket = new FakeSocket(isCapable);
  const call = calls.start({ key: KEY, runner, socket, runConfig: {}, isAudioBinary: true, answersPings });
  const connection = await model.connection(0);
  const stored = async (): Promise<readonly Event[]> => (await sessionService.getSession(KEY))?.events ?? [];
  return { platform, runner, calls, call, socket, connection, model, stored, reported };
}

const ROOMY = { maxWaiting: 100_000 };
const say = (text: string): string => JSON.stringify({ content: { parts: [{ text }] } });

test('a client is asked for a sign of life, and let go when it gives none for two heartbeats', async () => {
  const { platform, call, calls, socket, stored } = await setup([{ heard: 'content' }, 'I was saying', new Gate()]);
  call.message(say('Hi'));
  await socket.has(2);
  call.taken(socket.size);
  const { pendingTimers } = platform;
  platform.advance(BEAT_MS);
  expect(socket.done).toEqual(['ping']);
  call.pong();
  platform.advance(3 * BEAT_MS - 1);
  expect(socket.done).toEqual(['ping', 'ping', 'ping']);
  platform.advance(1);
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: expect.stringMatching(/^SLOW_READER: /) });
  expect(JSON.parse(String(socket.sent.at(-1)))).toMatchObject({ code: 'SLOW_READER' });
  await call.ended;
  expect((await stored()).map(({ content }) => content?.parts?.[0]?.text)).toEqual(['Hi', 'I was saying']);
  // What is left is not the call's.
  expect(platform.pendingTimers).toBe(pendingTimers - 1);
  platform.advance(10 * BEAT_MS);
  expect([calls.size, socket.done.length]).toEqual([0, 3]);
});

test('whatever a client says is a sign of life', async () => {
  const { platform, call, socket } = await setup([new Gate()]);
  for (let beat = 0; beat < 10; beat++) {
    platform.advance(BEAT_MS);
    call.message('{"activity_start": {}}');
  }
  expect(socket.sent).toEqual([]);
  call.closed();
  await call.ended;
});

test('of a socket without pings, silence says nothing', async () => {
  const { platform, call, socket } = await setup([new Gate()], { isCapable: false });
  platform.advance(20 * BEAT_MS);
  expect(socket.sent).toEqual([]);
  call.closed();
  await call.ended;
});

const PIECE = 'x'.repeat(300);
const PIECES = Array.from({ length: 100 }, () => PIECE);

test.each([
  ['as its socket tells', { isCapable: true }],
  ['as its pongs tell', { isCapable: false, answersPings: true }],
  ['as far as is known', { isCapable: false }],
])(
  'the run waits while more is under way than may be, and the client is let go when it takes nothing: %s',
  async (_how, how) => {
    const { platform, call, socket, connection } = await setup([...PIECES, END], how);
    await socket.has(2);
    for (let turn = 0; turn < 100; turn++) await Promise.resolve();
    expect(connection.stepsLeft).toBeGreaterThan(95);
    expect(socket.size).toBeLessThan(3000);
    platform.advance(2 * BEAT_MS);
    expect(socket.sent.every((frame) => !String(frame).includes('SLOW_READER'))).toBe(false);
    expect((await socket.closed.promise).code).toBe(1008);
    await call.ended;
    expect(connection.stepsLeft).toBeGreaterThan(90);
  },
);

/** Says something after every frame that it is sent, until it is told no more. */
async function chat({ call, socket }: { call: LiveCall; socket: FakeSocket }): Promise<void> {
  for (let count = 1; !socket.isClosed; count++) {
    await Promise.race([socket.has(count), socket.closed.promise]);
    call.message('{"activity_start": {}}');
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
}

const TRUSTED = { isCapable: false, maxUnconfirmed: 5000 };

test('a client that speaks and of which nobody knows what it takes is sent so much on trust, to the end of a sentence', async () => {
  const sentence = [...PIECES.slice(0, 12), END];
  const set = await setup([...sentence, ...sentence, ...sentence], { ...TRUSTED, maxWaiting: 20_000 });
  await chat(set);
  const { socket, call } = set;
  expect(await socket.closed.promise).toEqual({
    code: 1008,
    reason: expect.stringMatching(/^SLOW_READER: .*ping=text/),
  });
  const frames = socket.sent.map(String);
  expect(frames.filter((frame) => frame.includes('turnComplete'))).toHaveLength(1);
  expect(frames.filter((frame) => frame.includes(PIECE)).length).toBeGreaterThanOrEqual(12);
  await call.ended;
});

test('a sentence without an end does not prolong that: what comes after it waits, and the client is let go', async () => {
  const set = await setup([...PIECES, END], TRUSTED);
  const chatting = chat(set);
  const { platform, socket, call, connection } = set;
  for (let turn = 0; turn < 2000; turn++) await Promise.resolve();
  expect(socket.isClosed).toBe(false);
  expect(socket.size).toBeLessThan(7000);
  for (let beat = 0; beat < 4; beat++) platform.advance(BEAT_MS);
  expect((await socket.closed.promise).reason).toMatch(/^SLOW_READER/);
  await chatting;
  await call.ended;
  expect(connection.stepsLeft).toBeGreaterThan(60);
});

test.each([
  ['whose socket tells what it takes', { ...TRUSTED, isCapable: true }],
  ['that answers pings', { ...TRUSTED, answersPings: true }],
])('nothing is taken on trust of a client %s', async (_what, how) => {
  const set = await setup([...PIECES, END], { ...how, maxWaiting: 1_000_000 });
  const chatting = chat(set);
  const { socket, call } = set;
  await socket.endsTurn();
  expect([socket.isClosed, socket.size > 30_000]).toEqual([false, true]);
  call.closed();
  socket.close(1000, '');
  await Promise.all([chatting, call.ended]);
});

test('what was sent on trust counts for all calls of a server, until their sockets are gone', async () => {
  const sentence = (pieces: number) => [...PIECES.slice(0, pieces), END];
  const { runner, calls, call, socket, model } = await setup([...sentence(5), new Gate()], {
    isCapable: false,
    maxUnconfirmed: 6000,
    maxWaiting: 100_000,
    others: [sentence(3), [...sentence(3), new Gate()]],
  });
  await socket.endsTurn();
  expect(socket.size).toBeLessThan(6000);
  const begin = async (sessionId: string) => {
    await runner.sessionService.createSession({ ...KEY, sessionId });
    const to = new FakeSocket(false);
    const key = { ...KEY, sessionId };
    return {
      to,
      call: calls.start({ key, runner, socket: to, runConfig: {}, isAudioBinary: true, answersPings: false }),
    };
  };
  const second = await begin('second');
  expect((await second.to.closed.promise).reason).toMatch(/^SLOW_READER/);
  await second.call.ended;
  // Neither has taken anything: there is no room for another one.
  await expect(begin('third')).rejects.toMatchObject({ code: 'SERVER_BUSY' });
  call.closed();
  await call.ended;
  second.call.closed();
  second.call.closed();
  const fourth = await begin('fourth');
  await model.connection(2);
  await fourth.to.endsTurn();
  for (let turn = 0; turn < 200; turn++) await Promise.resolve();
  expect(fourth.to.isClosed).toBe(false);
  fourth.call.closed();
  await fourth.call.ended;
});

test('what a client did not take that was let go counts until its socket is gone, though it answers pings', async () => {
  const { platform, runner, calls, call, socket } = await setup([...PIECES, END], {
    isCapable: false,
    answersPings: true,
    maxUnconfirmed: 900,
  });
  const again = () =>
    calls.start({
      key: KEY,
      runner,
      socket: new FakeSocket(false),
      runConfig: {},
      isAudioBinary: true,
      answersPings: true,
    });
  await socket.has(2);
  for (let beat = 0; beat < 4; beat++) platform.advance(BEAT_MS);
  expect((await socket.closed.promise).reason).toMatch(/^SLOW_READER/);
  await call.ended;
  expect(again).toThrow(ServerBusyError);
  call.closed();
  const next = again();
  next.closed();
  platform.advance(5000);
  await next.ended;
});

test('a client that takes it piece by piece gets all of it, however slow it is', async () => {
  const { platform, call, socket } = await setup([...PIECES, END]);
  let taken = 0;
  while (!String(socket.sent.at(-1)).includes('turnComplete')) {
    await socket.has(taken + 1);
    call.taken(socket.sent[taken++]?.length ?? 0);
    call.pong();
    platform.advance(BEAT_MS);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
  expect(socket.sent.filter((frame) => String(frame).includes(PIECE))).toHaveLength(101);
  call.closed();
  await call.ended;
});

test('a client that says more than the model hears is made to wait', async () => {
  const gate = new Gate();
  const { call, socket, connection } = await setup([gate]);
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.sendRealtime = () => promise;
  for (let piece = 0; piece < 3; piece++) call.message(JSON.stringify(audio));
  expect(socket.done).toEqual(['pause']);
  resolve();
  while (socket.done.length < 2) await Promise.resolve();
  expect(socket.done).toEqual(['pause', 'resume']);
  call.closed();
  await call.ended;
});

test('a client that is made to wait is not asked for a sign of life meanwhile: it cannot give one', async () => {
  const { call, platform, socket, connection } = await setup([new Gate()]);
  connection.sendRealtime = () => new Promise(() => undefined);
  for (let piece = 0; piece < 3; piece++) call.message(JSON.stringify(audio));
  for (let beat = 0; beat < 5; beat++) platform.advance(BEAT_MS);
  expect(socket.done[0]).toBe('pause');
  expect(socket.sent).toEqual([]);
  call.closed();
  platform.advance(5000);
  await call.ended;
});

test('a client that is made to wait for very long may be gone, and is let go', async () => {
  const { call, platform, socket, connection } = await setup([new Gate()]);
  connection.sendRealtime = () => new Promise(() => undefined);
  for (let piece = 0; piece < 3; piece++) call.message(JSON.stringify(audio));
  platform.advance(13 * BEAT_MS);
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: expect.stringMatching(/^SLOW_READER: /) });
  platform.advance(5000);
  await call.ended;
});

test('a call that another one takes over stores what was said so far, and its client is told', async () => {
  const { runner, calls, call, socket, stored } = await setup([{ heard: 'content' }, 'I was saying'], { others: [[]] });
  call.message(say('Hi'));
  await socket.has(2);
  call.taken(socket.size);
  const next = new FakeSocket(true);
  const runConfig = { onBusy: 'interrupt' } as const;
  const other = calls.start({ key: KEY, runner, socket: next, runConfig, isAudioBinary: true, answersPings: false });
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: expect.stringMatching(/^STALE_WRITER: /) });
  expect((await stored()).map(({ content }) => content?.parts?.[0]?.text)).toEqual(['Hi', 'I was saying']);
  other.message('{"close": true}');
  expect((await next.closed.promise).code).toBe(1000);
});

test('faults are forgiven when something right follows; too many in a row are not', async () => {
  const { call, socket } = await setup([new Gate()], { maxWaiting: 1_000_000 });
  for (let count = 0; count < 100; count++) {
    call.message('{');
    if (count % 32 === 31) call.message('{"activity_start": {}}');
  }
  expect(socket.sent).toHaveLength(100);
  for (let count = 0; count < 40; count++) call.message('{');
  expect((await socket.closed.promise).code).toBe(1008);
  await call.ended;
});

test('a client that cannot be made to wait is told what was not heard', async () => {
  const { call, socket, connection } = await setup([new Gate()], { isCapable: false, maxWaiting: 100_000 });
  connection.sendRealtime = () => new Promise(() => undefined);
  for (let piece = 0; piece < 5; piece++) call.message(JSON.stringify(audio));
  expect(socket.sent.map((frame) => JSON.parse(String(frame)) as Event)).toMatchObject([
    { errorCode: 'LIVE_QUEUE_FULL', partial: true },
  ]);
});

test('a client that asks without end and takes no answer is let go', async () => {
  const { call, socket } = await setup([new Gate()]);
  for (let count = 0; count < 200; count++) call.message('{"ping": "is anybody there?"}');
  expect(socket.size).toBeLessThan(1500);
  expect((await socket.closed.promise).reason).toMatch(/^SLOW_READER/);
  await call.ended;
});

test.each(['the client says so', 'the server drains'])(
  'of a call that ends because %s nothing more is heard, and a microphone that is still on is no fault',
  async (why) => {
    const { calls, call, socket, connection } = await setup([new Gate()], ROOMY);
    const { promise, resolve } = Promise.withResolvers<void>();
    connection.sendActivityStart = () => promise;
    call.message('{"activityStart": {}}');
    if (why === 'the server drains') void calls.drain(10_000);
    else call.message('{"close": true}');
    for (let piece = 0; piece < 100; piece++) call.message(new Uint8Array(640));
    call.message(say('Are you there?'));
    call.message('{"close": true}');
    call.message('{"ping": 1}');
    resolve();
    expect((await socket.closed.promise).code).toBe(why === 'the server drains' ? 1012 : 1000);
    await call.ended;
    const told = socket.sent.map((frame) => JSON.parse(String(frame)) as object);
    expect(told.filter((frame) => !('error' in frame))).toEqual([{ pong: 1 }]);
    expect(JSON.stringify(connection.sent)).toBe('[]');
  },
);

test('a pong to what was never asked takes nothing off', async () => {
  const { call, socket, connection } = await setup([...PIECES, END], { isCapable: false, answersPings: true });
  await socket.has(2);
  for (let turn = 0; turn < 100; turn++) {
    call.message('{"pong": 1000000000}');
    await Promise.resolve();
  }
  expect(connection.stepsLeft).toBeGreaterThan(95);
  call.closed();
  await call.ended;
});

test('audio that is none ends the call, and leaves no run behind', async () => {
  const { call, socket, connection, calls } = await setup([
    { content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm', data: 'A' } }] } },
    new Gate(),
  ]);
  expect((await socket.closed.promise).reason).toMatch(/^INVALID_REQUEST/);
  await call.ended;
  expect([connection.isClosed, calls.size]).toEqual([true, 0]);
});

test('a run that does not end when its client is gone is aborted after five seconds', async () => {
  const { call, platform, socket, connection, reported } = await setup([{ heard: 'blob' }, 'Hello', new Gate()], ROOMY);
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.sendActivityStart = () => promise;
  call.message(new Uint8Array(2));
  call.message('{"activityStart": {}}');
  await socket.has(1);
  call.closed();
  platform.advance(4999);
  expect(connection.isClosed).toBe(false);
  platform.advance(1);
  expect(connection.isClosed).toBe(true);
  resolve();
  await call.ended;
  expect([socket.sent.length, reported.length]).toEqual([1, 1]);
});

test('when the server drains, the model says its sentence, and the client is asked to call again', async () => {
  const gate = new Gate();
  const { calls, call, socket, stored } = await setup([{ heard: 'content' }, 'I was ', gate, 'saying', END], ROOMY);
  call.message(say('Hi'));
  await socket.has(2);
  const drained = calls.drain(10_000);
  expect(() => calls.start({ key: KEY } as never)).toThrow(/shutting down/);
  gate.open();
  expect(await socket.closed.promise).toEqual({ code: 1012, reason: expect.stringMatching(/^SHUTTING_DOWN: /) });
  await drained;
  expect((await stored()).map(({ content }) => content?.parts?.[0]?.text)).toEqual(['Hi', 'I was saying', undefined]);
});

test('a sentence that is too long is cut off, and stored as far as it was said', async () => {
  const { calls, call, platform, socket, stored, reported } = await setup(
    [{ heard: 'content' }, 'I was', new Gate()],
    ROOMY,
  );
  call.message(say('Hi'));
  await socket.has(2);
  const drained = calls.drain(10_000);
  platform.advance(5000);
  expect((await socket.closed.promise).code).toBe(1012);
  await drained;
  expect((await stored()).at(-1)?.content?.parts).toEqual([{ text: 'I was' }]);
  expect(reported).toEqual([]);
});

test('a call that nothing else ends is aborted when the time is over', async () => {
  const { calls, platform, socket } = await setup([...PIECES, END]);
  await socket.has(2);
  const drained = calls.drain(10_000);
  platform.advance(10_000);
  expect((await socket.closed.promise).code).toBe(1012);
  await drained;
});
