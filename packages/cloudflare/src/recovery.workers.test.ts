import { abortAllDurableObjects, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStub, env } from 'cloudflare:workers';
import type { Event } from '@eventloom/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { objects } from './fixtures/test-objects.ts';
import { work, WORK_STEPS, type WorkStep } from './fixtures/protocol-runners.ts';
import { readAfter, seenOf, sent, type Sent } from './fixtures/sent-frames.ts';
import { ask, post } from './fixtures/user-client.ts';

let user = '';

const objectOf = (): DurableObjectStub => env.EVENTLOOM_USERS.getByName(JSON.stringify(['shop', user]));

const session = (): string => `/apps/shop/users/${user}/sessions/s`;

const times = (step: WorkStep): number => work.passed.filter((passed) => passed === step).length;

async function history(): Promise<Event[]> {
  return ((await (await ask(session())).json()) as { events: Event[] }).events;
}

/** Polled repeatedly: a test must not await a promise of an object that is killed afterwards. */
const isHalted = (): Promise<unknown> => expect.poll(() => work.isHalted).toBe(true);

async function send(path: string, haltAt?: WorkStep): Promise<Response> {
  Object.assign(work, { haltAt, isHalted: false });
  const newMessage = { role: 'user', parts: [{ text: 'work' }] };
  return post(path, { appName: 'shop', userId: user, sessionId: 's', newMessage, streaming: true });
}

/** Returns the path of a run that halted, without reading it. */
async function beginAndHalt(haltAt: WorkStep): Promise<string> {
  await (await post(session(), {})).text();
  const response = await send('/run_sse', haltAt);
  await response.body?.cancel();
  await isHalted();
  return `${session()}/runs/${response.headers.get('eventloom-invocation-id')}`;
}

/** The object has its storage and none of its memory; its alarm is what wakes it. */
async function wakeByAlarm(haltAt?: WorkStep): Promise<void> {
  Object.assign(work, { haltAt, isHalted: false });
  expect(await runDurableObjectAlarm(objectOf())).toBe(true);
}

const runEnded = (): Promise<void> => expect.poll(async () => (await history()).at(-1)?.object).toBe('runner.end');

/** The stored events that readers of a run get: not those that only record where its agent is. */
async function streamedHistory(): Promise<Event[]> {
  return (await history()).filter(({ author, content, errorCode }) => author !== 'user' && (content || errorCode));
}

/** Checks that a reader with any part of the stream that continues after it gets every committed event once and in order. */
async function expectRest(run: string, { seqs, events }: Sent): Promise<void> {
  const stored = await streamedHistory();
  for (let at = 0; at <= seqs.length; at++) {
    const rest = await readAfter(run, seqs[at - 1] ?? 0);
    expect([...events.slice(0, at), ...rest.events].filter(isStored)).toEqual(stored);
    const numbers = [...seqs.slice(0, at), ...rest.seqs];
    expect(numbers).toEqual(Array.from(new Set(numbers)).sort((one, other) => one - other));
  }
}

const partsOf = (events: readonly Event[]) => events.flatMap(({ content }) => content?.parts ?? []);

const isStored = ({ partial }: Event): boolean => partial !== true;

beforeEach(() => {
  user = `user-${crypto.randomUUID()}`;
  Object.assign(work, {
    passed: [],
    haltAt: undefined,
    isHalted: false,
    onUnfinishedRuns: 'resume',
    onHalt: () => undefined,
  });
});

/**
 * An object with an active run cannot be evicted: `evictDurableObject` waits 30 seconds and then throws, because the run holds references.
 * It can only be killed with `abort`; between and after runs it can be evicted.
 */
describe('a resumable run whose object dies', () => {
  test.each(WORK_STEPS)('continues at the alarm, halted in "%s"', async (step) => {
    await beginAndHalt(step);
    await abortAllDurableObjects();
    await wakeByAlarm();
    await runEnded();
    const events = await history();
    expect(partsOf(events).flatMap(({ text }) => text ?? [])).toEqual(['work', 'so it is done']);
    const responses = partsOf(events).flatMap(({ functionResponse }) => functionResponse ?? []);
    expect(responses.map(({ name }) => name)).toEqual(['work', 'look']);
    expect(times('work')).toBe(1);
    expect(times('look')).toBe(step === 'look' ? 2 : 1);
  });

  test.each([
    ['/run', 'ask'],
    ['/run', 'end'],
    ['/run_sse', 'ask'],
  ] as const)(
    'continues at the alarm, if the client still waits for the response of %s in "%s"',
    async (path, step) => {
      await (await post(session(), {})).text();
      const answer = send(path, step);
      await isHalted();
      const alarmMs = await runInDurableObject(objectOf(), (_object, { storage }) => storage.getAlarm());
      expect(alarmMs).toBeLessThanOrEqual(Date.now() + 20_000);
      await abortAllDurableObjects();
      expect((await answer).status).toBe(503);
      await wakeByAlarm();
      await runEnded();
      expect(partsOf(await history()).flatMap(({ text }) => text ?? [])).toEqual(['work', 'so it is done']);
    },
  );

  test('is ended by a request that cancels it, and does not continue at the alarm', async () => {
    const run = await beginAndHalt('stream');
    await abortAllDurableObjects();
    Object.assign(work, { haltAt: undefined });
    const init = { method: 'DELETE' };
    expect((await objectOf().fetch(new Request(`http://localhost${run}`, init))).status).toBe(200);
    const ended = await history();
    expect(ended.find(({ errorCode }) => errorCode)?.errorMessage).toBe('the run was cancelled');
    await runDurableObjectAlarm(objectOf());
    expect(await history()).toEqual(ended);
  });

  test('continues at a request, and its reader gets no error', async () => {
    const run = await beginAndHalt('stream');
    await abortAllDurableObjects();
    Object.assign(work, { haltAt: undefined });
    // The request goes directly to the object, so that the object has no time in between.
    const { events } = sent(await (await objectOf().fetch(new Request(`http://localhost${run}`))).text());
    expect(partsOf(events).at(-1)).toEqual({ text: 'so it is done' });
    expect(events.filter(isStored)).toEqual(await streamedHistory());
  });

  test.each(WORK_STEPS)(
    'yields committed events once and in order to a reader that continues after a halt at "%s"',
    async (step) => {
      const run = await beginAndHalt(step);
      const seen = step === 'ask' ? { seqs: [], events: [] } : await seenOf(run);
      await abortAllDurableObjects();
      await wakeByAlarm();
      await runEnded();
      await expectRest(run, seen);
      await evictDurableObject(objectOf());
      await expectRest(run, seen);
      const whole = await readAfter(run, 0);
      await expectRest(run, whole);
      const end = await ask(run, { headers: { 'last-event-id': String(whole.seqs.at(-1)) } });
      expect([end.status, await end.text()]).toEqual([204, '']);
    },
  );

  test('can be followed from any event number of any attempt while the last one runs', async () => {
    const run = await beginAndHalt('stream');
    const first = await seenOf(run);
    await abortAllDurableObjects();
    await wakeByAlarm('said');
    await isHalted();
    const second = await seenOf(run);
    expect(second.events.filter(isStored)).toEqual(await streamedHistory());
    await abortAllDurableObjects();
    await wakeByAlarm('end');
    await isHalted();
    const stored = await streamedHistory();
    for (const { seqs, events } of [first, second]) {
      for (const [index, seq] of seqs.entries()) {
        if (seq === second.seqs.at(-1)) continue;
        const rest = await seenOf(run, seq);
        expect([...events.slice(0, index + 1), ...rest.events].filter(isStored)).toEqual(stored);
      }
    }
  });

  test('replaces the chunks of a reply that the evicted object did not finish', async () => {
    const run = await beginAndHalt('stream');
    const { seqs } = await seenOf(run);
    await abortAllDurableObjects();
    await wakeByAlarm();
    await runEnded();
    expect(partsOf((await readAfter(run, seqs.at(-1) ?? 0)).events).at(-1)).toEqual({ text: 'so it is done' });
    expect((await readAfter(run, 0)).events.every(isStored)).toBe(true);
  });

  test('is closed at the alarm with onUnfinishedRuns close', async () => {
    await beginAndHalt('stream');
    work.onUnfinishedRuns = 'close';
    await abortAllDurableObjects();
    await wakeByAlarm();
    await runEnded();
    expect((await history()).at(-2)).toMatchObject({ errorCode: 'RUN_ABANDONED' });
    expect(times('answer')).toBe(1);
  });

  test('stays open with onUnfinishedRuns leave, and its session is unlocked', async () => {
    const run = await beginAndHalt('stream');
    work.onUnfinishedRuns = 'leave';
    await abortAllDurableObjects();
    await wakeByAlarm();
    expect((await history()).at(-1)?.object).not.toBe('runner.end');
    expect(await (await ask(run)).text()).toContain('RUN_GOES_ON');
    const invocationId = run.split('/').at(-1);
    const rest = await post('/run', { appName: 'shop', userId: user, sessionId: 's', invocationId });
    expect(await rest.text()).toContain('so it is done');
    expect(times('work')).toBe(1);
  });

  test.each(['stream', 'work'] as const)(
    'is given up after each attempt halted in "%s", with an error event',
    async (step) => {
      await beginAndHalt(step);
      for (const _attempt of [2, 3]) {
        await abortAllDurableObjects();
        await wakeByAlarm(step === 'work' ? 'answer' : step);
        await isHalted();
      }
      await abortAllDurableObjects();
      await wakeByAlarm();
      await runEnded();
      const events = await history();
      expect(events.at(-2)).toMatchObject({
        errorCode: 'RUN_ABANDONED',
        errorMessage: expect.stringContaining('attempt 3'),
      });
      expect(times('work')).toBe(1);
      const next = {
        appName: 'shop',
        userId: user,
        sessionId: 's',
        newMessage: { role: 'user', parts: [{ text: 'again' }] },
      };
      expect(await (await post('/run', next)).text()).toContain('so it is done');
    },
  );

  test('is abandoned if it halts the object again while the object wakes up', async () => {
    await beginAndHalt('answer');
    work.onHalt = () => objects.dieNow();
    await abortAllDurableObjects();
    for (const attempt of [2, 3]) {
      await history().catch(() => undefined);
      await expect.poll(() => times('answer')).toBe(attempt);
    }
    await runEnded();
    expect((await history()).at(-2)).toMatchObject({ errorCode: 'RUN_ABANDONED' });
    expect(times('answer')).toBe(3);
  });
});

test.each(['/run', '/run_sse'])('%s sets an alarm, which is not set again when the run has ended', async (path) => {
  await (await post(session(), {})).text();
  expect(await runDurableObjectAlarm(objectOf())).toBe(false);
  await (await send(path)).text();
  expect(await runDurableObjectAlarm(objectOf())).toBe(true);
  expect(await runDurableObjectAlarm(objectOf())).toBe(false);
});

test('a run that waits for an answer is cancelled after its object was evicted, and takes no answer any more', async () => {
  const path = `/apps/review/users/${user}/sessions/s`;
  await (await post(path, {})).text();
  const send = (...parts: object[]) =>
    post('/run', { appName: 'review', userId: user, sessionId: 's', newMessage: { role: 'user', parts } });
  const asked = await send({ text: 'a poem' });
  const [id] = ((await asked.json()) as Event[]).flatMap(({ longRunningToolIds }) => longRunningToolIds ?? []);
  const run = `${path}/runs/${asked.headers.get('eventloom-invocation-id')}`;
  await evictDurableObject(env.EVENTLOOM_USERS.getByName(JSON.stringify(['review', user])));
  const state = async () => (await ask(run, { headers: { accept: 'application/json' } })).json();
  expect(await state()).toMatchObject({ state: 'waiting' });
  expect((await ask(run, { method: 'DELETE' })).status).toBe(200);
  expect(await state()).toMatchObject({ state: 'interrupted', code: 'RUN_ABORTED', error: 'the run was cancelled' });
  const refused = await send({ functionResponse: { id, name: 'adk_request_input', response: { result: 'yes' } } });
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'INVALID_MESSAGE' }]);
});
