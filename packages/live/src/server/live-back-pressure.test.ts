import { Gate } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { ServerBusyError } from '@eventloom/server';
import type { HostedLiveRun } from './hosted-live-run.ts';
import { FakeSocket } from './fixtures/fake-socket.ts';
import { audio, BEAT_MS, END, KEY, setup } from './fixtures/served-call.ts';

const PIECE = 'x'.repeat(300);

const PIECES = Array.from({ length: 100 }, () => PIECE);

/** A model that replies to every frame until it is stopped. */
async function chat({ call, socket }: { call: HostedLiveRun; socket: FakeSocket }): Promise<void> {
  for (let count = 1; !socket.isClosed; count++) {
    await Promise.race([socket.has(count), socket.closed.promise]);
    call.message('{"activity_start": {}}');
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  }
}

const TRUSTED = { isCapable: false, maxUnconfirmed: 5000 };

test.each([
  ['as its socket tells', { isCapable: true }],
  ['as its pongs tell', { isCapable: false, answersPings: true }],
  ['as far as is known', { isCapable: false }],
])(
  'the run waits while more than maxWaiting is unread, and a client that reads nothing is disconnected: %s',
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

test('without flow information a client gets at most maxUnconfirmed bytes, up to the end of the turn', async () => {
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

test('a turn that does not end does not extend maxUnconfirmed, and the client is disconnected', async () => {
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
])('maxUnconfirmed does not apply to a client %s', async (_what, how) => {
  const set = await setup([...PIECES, END], { ...how, maxWaiting: 1_000_000 });
  const chatting = chat(set);
  const { socket, call } = set;
  await socket.endsTurn();
  expect([socket.isClosed, socket.size > 30_000]).toEqual([false, true]);
  call.closed();
  socket.close(1000, '');
  await Promise.all([chatting, call.ended]);
});

test('unconfirmed bytes count for all runs of a server until their sockets are closed', async () => {
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
  // Neither client has taken anything, so there is no room for another one.
  await expect(begin('third')).rejects.toMatchObject({
    code: 'SERVER_BUSY',
    message:
      'too much sent data is not yet acknowledged by clients; try again later, or connect with ?ping=text and answer pings',
  });
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

test('unread bytes of a disconnected client count until its socket is closed, also if it answers pings', async () => {
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
  // A ping says that the call has begun.
  await socket.has(3);
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

test('a slow client that acknowledges each message gets all messages', async () => {
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

test('a client that sends faster than the model reads is paused', async () => {
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

test('a paused client gets no heartbeat, because it cannot answer', async () => {
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

test('a client that is paused for 13 heartbeats is disconnected', async () => {
  const { call, platform, socket, connection } = await setup([new Gate()]);
  connection.sendRealtime = () => new Promise(() => undefined);
  for (let piece = 0; piece < 3; piece++) call.message(JSON.stringify(audio));
  platform.advance(13 * BEAT_MS);
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: expect.stringMatching(/^SLOW_READER: /) });
  platform.advance(5000);
  await call.ended;
});

test('a pong without a ping acknowledges no bytes', async () => {
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
