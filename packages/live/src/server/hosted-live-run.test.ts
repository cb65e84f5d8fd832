import { type Event, systemPlatform } from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { Runner } from '@eventloom/runner';
import { Gate, ScriptedModel } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { FakeSocket } from './fixtures/fake-socket.ts';
import { audio, BEAT_MS, END, KEY, say, setup } from './fixtures/served-call.ts';

const ROOMY = { maxWaiting: 100_000 };

const PIECE = 'x'.repeat(300);

const PIECES = Array.from({ length: 100 }, () => PIECE);

test('a client that misses two heartbeats is disconnected, and no timer is left', async () => {
  const { platform, call, calls, socket, stored } = await setup([{ heard: 'content' }, 'I was saying', new Gate()]);
  call.message(say('Hi'));
  await socket.has(1);
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
  // The remaining timers do not belong to the call.
  expect(platform.pendingTimers).toBe(pendingTimers - 1);
  platform.advance(10 * BEAT_MS);
  expect([calls.size, socket.done.length]).toEqual([0, 3]);
});

test('any frame of a client counts as an answer to the heartbeat', async () => {
  const { platform, call, socket } = await setup([new Gate()]);
  for (let beat = 0; beat < 10; beat++) {
    platform.advance(BEAT_MS);
    call.message('{"activity_start": {}}');
  }
  expect(socket.sent).toEqual([]);
  call.closed();
  await call.ended;
});

test('silence on a socket without pings does not disconnect a client that has sent a frame', async () => {
  const { platform, call, socket } = await setup([new Gate()], { isCapable: false });
  platform.advance(3 * BEAT_MS);
  call.message('{"activity_start": {}}');
  platform.advance(20 * BEAT_MS);
  expect(socket.sent).toEqual([]);
  call.closed();
  await call.ended;
});

test('a client without pings that sends no frame within four heartbeats is disconnected', async () => {
  const { platform, call, calls, socket } = await setup([new Gate()], { isCapable: false });
  platform.advance(4 * BEAT_MS - 1);
  expect(socket.isClosed).toBe(false);
  platform.advance(1);
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: expect.stringMatching(/^SLOW_READER: /) });
  await call.ended;
  expect(calls.size).toBe(0);
});

test('a run that is interrupted by another one stores the speech so far, and its client hears the stored end', async () => {
  const { runner, platform, calls, call, socket, stored } = await setup([{ heard: 'content' }, 'I was saying'], {
    others: [[]],
  });
  call.message(say('Hi'));
  await socket.has(1);
  call.taken(socket.size);
  const next = new FakeSocket(true);
  const runConfig = { onBusy: 'interrupt' } as const;
  const other = calls.start({ key: KEY, runner, socket: next, runConfig, isAudioBinary: true, answersPings: false });
  await expect.poll(() => (platform.advance(25), socket.isClosed)).toBe(true);
  const message = 'another run of the session interrupted the run';
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: `RUN_ABANDONED: ${message}` });
  other.message('{"close": true}');
  expect((await next.closed.promise).code).toBe(1000);
  // The second call ends the first one's run before it begins.
  const received = (await stored()).map(({ content, errorCode }) => content?.parts?.[0]?.text ?? errorCode);
  expect(received).toEqual(['Hi', 'I was saying', 'RUN_ABANDONED']);
});

/** A call that has heard a text and speaks, and another process with the same sessions. With an empty text, nothing was said. */
async function callAndOtherProcess(text = 'Hi') {
  const served = await setup([{ heard: 'content' }, 'I', new Gate()]);
  const { sessionService, clock, call, socket } = served;
  if (text !== '') {
    call.message(say(text));
    await socket.has(1);
    call.taken(socket.size);
  }
  const agent = new LlmAgent({ name: 'speaker', model: new ScriptedModel(['Hello']) });
  const platform = {
    ...clock,
    newEventId: () => systemPlatform.newEventId(),
    newUuid: () => systemPlatform.newUuid(),
  };
  const elsewhere = new Runner({ appName: 'app', agent, sessionService, platform });
  const { userId, sessionId } = KEY;
  const { invocationId } = call;
  return { ...served, elsewhere, userId, sessionId, invocationId };
}

type OtherProcess = Awaited<ReturnType<typeof callAndOtherProcess>>;

/** Acts of another process on the session of a call, and the end that the client of the call then hears. */
const ENDS_ELSEWHERE: [string, (other: OtherProcess) => Promise<unknown>, string][] = [
  [
    'cancels the run',
    ({ elsewhere, userId, sessionId, invocationId }) =>
      elsewhere.cancelRun({ userId, sessionId, invocationId, onBusy: 'interrupt' }),
    'RUN_ABORTED: the run was cancelled',
  ],
  [
    'deletes the session',
    ({ sessionService }) => sessionService.deleteSession(KEY),
    'RUN_ABORTED: the session was deleted',
  ],
  [
    'takes the session for another run',
    ({ elsewhere, userId, sessionId }) =>
      elsewhere.run({ userId, sessionId, newMessage: { parts: [{ text: 'Me' }] }, runConfig: { onBusy: 'interrupt' } }),
    'RUN_ABANDONED: another run of the session interrupted the run',
  ],
  [
    'rewinds the run',
    ({ elsewhere, userId, sessionId, invocationId }) =>
      elsewhere.rewindAsync({ userId, sessionId, rewindBeforeInvocationId: invocationId, onBusy: 'interrupt' }),
    'RUN_ABANDONED: a rewind of the session undid the run',
  ],
  [
    'closes the run, because this one stood still for longer than its lease',
    ({ elsewhere, clock, userId, sessionId, invocationId }) => {
      clock.advance(60_000);
      return elsewhere.closeRun({ userId, sessionId, invocationId, reason: 'it was left' });
    },
    'RUN_ABANDONED: it was left',
  ],
];

test.each(ENDS_ELSEWHERE)('the client hears the stored end of its run if another process %s', async (_, end, heard) => {
  const other = await callAndOtherProcess();
  const { platform, socket } = other;
  await end(other);
  platform.advance(10_000);
  expect(await socket.closed.promise).toEqual({ code: 1008, reason: heard });
  const [code, error] = heard.split(': ');
  expect(JSON.parse(String(socket.sent.at(-1)))).toEqual({ error, code });
});

test.each([
  ['has the session and stored no end of the run', 'Hi', /^STORAGE_UNAVAILABLE: /],
  [
    'closed a run in which nothing was said',
    '',
    /^SESSION_BUSY: the session was taken before anything was said, by another run or a cancellation/,
  ],
])('the client is asked to call again if another process %s', async (_, said, reason) => {
  const { elsewhere, sessionService, platform, clock, socket, invocationId } = await callAndOtherProcess(said);
  clock.advance(60_000);
  if (said === '') await elsewhere.closeRun({ userId: 'ann', sessionId: 's', invocationId, reason: 'it was left' });
  await sessionService.acquireLease({ ...KEY, ttlMs: 60_000 });
  platform.advance(10_000);
  await expect.poll(() => (platform.advance(400), socket.isClosed)).toBe(true);
  expect(await socket.closed.promise).toEqual({ code: 1013, reason: expect.stringMatching(reason) });
});

test('a run that another open run of the session prevents is refused with the address of that run', async () => {
  const { runner, sessionService, calls, call } = await setup([new Gate()]);
  const key = { ...KEY, sessionId: 'other' };
  await sessionService.createSession(key);
  const { lease } = await sessionService.beginRun({ ...key, invocationId: 'e-open', resumable: true });
  await sessionService.releaseLease(lease, { keepRunOpen: true });
  const socket = new FakeSocket(true);
  const runConfig = { onOpenRun: 'reject' } as const;
  const refused = calls.start({ key, runner, socket, runConfig, isAudioBinary: true, answersPings: false });
  await refused.ended;
  expect(JSON.parse(String(socket.sent.at(-1)))).toMatchObject({
    code: 'RUN_OPEN',
    run: '/apps/app/users/ann/sessions/other/runs/e-open',
  });
  call.closed();
  await call.ended;
});

test('a valid frame resets the count of invalid ones, and too many in a row close the socket', async () => {
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

test('a client whose socket cannot be paused gets an error event for audio that was dropped', async () => {
  const { call, socket, connection } = await setup([new Gate()], { isCapable: false, maxWaiting: 100_000 });
  connection.sendRealtime = () => new Promise(() => undefined);
  for (let piece = 0; piece < 5; piece++) call.message(JSON.stringify(audio));
  expect(socket.sent.map((frame) => JSON.parse(String(frame)) as Event)).toMatchObject([
    { errorCode: 'LIVE_QUEUE_FULL', partial: true },
  ]);
});

test('a client that sends pings and reads no pongs is disconnected', async () => {
  const { call, socket } = await setup([new Gate()]);
  for (let count = 0; count < 200; count++) call.message('{"ping": "is anybody there?"}');
  expect(socket.size).toBeLessThan(1500);
  expect((await socket.closed.promise).reason).toMatch(/^SLOW_READER/);
  await call.ended;
});

test.each(['the client says so', 'the server drains'])(
  'after %s no client frame is processed, and audio frames are not errors',
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
    const received = socket.sent.map((frame) => JSON.parse(String(frame)) as object);
    expect(received.filter((frame) => !('error' in frame))).toEqual([{ pong: 1 }]);
    expect(JSON.stringify(connection.sent)).toBe('[]');
  },
);

test('model audio that is not base64 stays in its event, and the run continues', async () => {
  const { call, socket } = await setup(
    [{ content: { role: 'model', parts: [{ inlineData: { mimeType: 'audio/pcm', data: '*' } }] } }, 'Hello', END],
    ROOMY,
  );
  await socket.endsTurn();
  const parts = socket.sent.map((frame) => (JSON.parse(String(frame)) as Event).content?.parts?.[0]);
  expect(parts.slice(0, 2)).toEqual([{ inlineData: { mimeType: 'audio/pcm', data: '*' } }, { text: 'Hello' }]);
  call.closed();
  await call.ended;
});

test('a run that does not end within five seconds of the hang-up is aborted', async () => {
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

test('a draining server lets the model end its turn and closes with 1012', async () => {
  const gate = new Gate();
  const { calls, call, socket, stored } = await setup([{ heard: 'content' }, 'I was ', gate, 'saying', END], ROOMY);
  call.message(say('Hi'));
  await socket.has(1);
  const drained = calls.drain(10_000);
  expect(() => calls.start({ key: KEY } as never)).toThrow(/shutting down/);
  gate.open();
  expect(await socket.closed.promise).toEqual({ code: 1012, reason: expect.stringMatching(/^SHUTTING_DOWN: /) });
  await drained;
  expect((await stored()).map(({ content }) => content?.parts?.[0]?.text)).toEqual(['Hi', 'I was saying', undefined]);
});

test('a turn that takes longer than the drain allows is interrupted and stored so far', async () => {
  const { calls, call, platform, socket, stored, reported } = await setup(
    [{ heard: 'content' }, 'I was', new Gate()],
    ROOMY,
  );
  call.message(say('Hi'));
  await socket.has(1);
  const drained = calls.drain(10_000);
  platform.advance(5000);
  expect((await socket.closed.promise).code).toBe(1012);
  await drained;
  expect((await stored()).at(-1)?.content?.parts).toEqual([{ text: 'I was' }]);
  expect(reported).toEqual([]);
});

test('a run that is still open at the end of a drain is aborted', async () => {
  const { calls, platform, socket } = await setup([...PIECES, END]);
  await socket.has(2);
  const drained = calls.drain(10_000);
  platform.advance(10_000);
  expect((await socket.closed.promise).code).toBe(1012);
  await drained;
});
