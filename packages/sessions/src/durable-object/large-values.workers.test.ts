import { createEvent, type Event, type SessionKey, SizeLimitError, StaleWriterError } from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DurableObjectSessionService } from './durable-object-session-service.ts';
import type { LargeValueBucket } from './large-value-bucket.ts';

const KEY: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };
const LARGE = 'x'.repeat(300);

interface Subject {
  readonly service: DurableObjectSessionService;
  readonly storage: DurableObjectStorage;
  /** What the object has in the bucket. */
  readonly stored: () => Promise<number>;
  /** A service as it is after the object lost its memory. */
  readonly anew: () => DurableObjectSessionService;
}

/** Runs work inside a new object with a service that puts into the bucket what has over 250 bytes. */
function inObject(work: (subject: Subject) => Promise<void>, watch: Partial<LargeValueBucket> = {}): Promise<void> {
  const prefix = `${crypto.randomUUID()}/`;
  const bucket: LargeValueBucket = {
    put: (key, value) => env.ARTIFACTS.put(key, value),
    get: (key) => env.ARTIFACTS.get(key),
    delete: (keys) => env.ARTIFACTS.delete(keys),
    ...watch,
  };
  return runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
    const anew = () => new DurableObjectSessionService({ storage, bucket, prefix, maxRowBytes: 250 });
    const stored = async () => (await env.ARTIFACTS.list({ prefix })).objects.length;
    await work({ service: anew(), storage, stored, anew });
  });
}

function event(id: string, text = '', stateDelta: Record<string, unknown> = {}): Event {
  return createEvent({
    id,
    invocationId: 'e-1',
    author: 'agent',
    timestamp: 1,
    content: { role: 'model', parts: [{ text }] },
    actions: { stateDelta },
  });
}

test('every kind of value lies in the bucket while something refers to it, and is deleted when nothing does', () =>
  inObject(async ({ service, stored }) => {
    const left = async (): Promise<number> => {
      await service.sweep();
      expect(service.hasLoose).toBe(false);
      return stored();
    };
    const session = await service.createSession({ ...KEY, state: { first: LARGE, 'user:first': LARGE } });
    expect(await left()).toBe(2);
    const lease = await service.acquireLease(KEY);
    await service.appendEvent({ session, event: event('one', LARGE), lease });
    expect(await left()).toBe(3);
    const call = { invocationId: 'e-1', callId: 'c', name: 'tool', response: { text: LARGE } };
    await service.recordToolCall(lease, { ...call, status: 'started' });
    expect(await left()).toBe(4);
    const changed = { ...call, response: { text: `${LARGE}!` }, actions: { stateDelta: { key: LARGE } } };
    await service.recordToolCall(lease, { ...changed, status: 'finished' });
    expect(await left()).toBe(5);
    // The event itself is large as well. What the session was created with is its initial state, and stays.
    const replaced = { first: `${LARGE}1`, 'user:first': `${LARGE}2` };
    await service.appendEvent({ session, event: event('two', '', replaced), lease });
    expect(await left()).toBe(7);
    await service.appendEvent({ session, event: event('three', '', { first: 1, 'user:first': 2 }), lease });
    expect(await left()).toBe(5);
    expect((await service.getSession(KEY))?.events.map(({ id }) => id)).toEqual(['one', 'two', 'three']);
    expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([{ ...changed, status: 'finished' }]);
    await service.deleteSession(KEY);
    expect(await left()).toBe(0);
  }));

test('a value that the same text is stored of twice lies there twice: one of them can go', () =>
  inObject(async ({ service, stored }) => {
    const session = await service.createSession({ ...KEY, state: { one: LARGE, two: LARGE } });
    await service.appendEvent({ session, event: event('gone', '', { one: 1 }) });
    await service.sweep();
    expect(await stored()).toBe(2);
    expect((await service.getSession(KEY))?.state).toEqual({ one: 1, two: LARGE });
  }));

test('what an append wrote is deleted when it is refused', () =>
  inObject(async ({ service, stored }) => {
    const session = await service.createSession(KEY);
    const lease = await service.acquireLease(KEY);
    await service.releaseLease(lease);
    await expect(service.appendEvent({ session, event: event('late', LARGE), lease })).rejects.toThrow(
      StaleWriterError,
    );
    expect([await stored(), service.hasLoose]).toEqual([1, true]);
    await service.sweep();
    expect([await stored(), service.hasLoose]).toEqual([0, false]);
  }));

test('what was written when the object died before its commit is deleted by the object that comes after', async () => {
  const reached = Promise.withResolvers<void>();
  await inObject(
    async ({ service, stored, anew }) => {
      const session = await service.createSession(KEY);
      void service.appendEvent({ session, event: event('never', LARGE) });
      await reached.promise;
      expect(service.hasLoose).toBe(false);
      await service.sweep();
      expect(await stored()).toBe(1);
      const after = anew();
      expect(after.hasLoose).toBe(true);
      await after.sweep();
      expect([await stored(), after.hasLoose]).toEqual([0, false]);
      expect((await after.getSession(KEY))?.events).toEqual([]);
    },
    {
      put: async (key, value) => {
        await env.ARTIFACTS.put(key, value);
        reached.resolve();
        await new Promise(() => undefined);
      },
    },
  );
});

test('an append whose value cannot be written is refused with the error of the bucket and changes nothing', () =>
  inObject(
    async ({ service }) => {
      const session = await service.createSession(KEY);
      const append = service.appendEvent({ session, event: event('one', LARGE, { key: 1 }) });
      await expect(append).rejects.toThrow('the bucket is away');
      const stored = await service.getSession(KEY);
      expect([stored?.events, stored?.state]).toEqual([[], {}]);
      expect(session.events).toEqual([]);
    },
    { put: () => Promise.reject(new RangeError('the bucket is away')) },
  ));

test('what could not be deleted is deleted by a later sweep', async () => {
  let isAway = true;
  await inObject(
    async ({ service, stored }) => {
      const session = await service.createSession(KEY);
      await service.appendEvent({ session, event: event('one', LARGE) });
      await service.deleteSession(KEY);
      await expect(service.sweep()).rejects.toThrow('the bucket is away');
      expect(service.hasLoose).toBe(true);
      isAway = false;
      await service.sweep();
      expect([await stored(), service.hasLoose]).toEqual([0, false]);
    },
    {
      delete: (keys) => (isAway ? Promise.reject(new RangeError('the bucket is away')) : env.ARTIFACTS.delete(keys)),
    },
  );
});

test('a value that somebody took out of the bucket is a coded error', () => {
  const keys: string[] = [];
  const put = (key: string, value: string) => {
    keys.push(key);
    return env.ARTIFACTS.put(key, value);
  };
  return inObject(
    async ({ service }) => {
      const session = await service.createSession(KEY);
      await service.appendEvent({ session, event: event('one', LARGE) });
      await env.ARTIFACTS.delete(keys);
      await expect(service.getSession(KEY)).rejects.toMatchObject({ code: 'CONFIGURATION' });
    },
    { put },
  );
});

test.each(['', 'x'])('a character that two units make up is whole behind "%s" wherever it is cut', (begin) =>
  runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
    const service = new DurableObjectSessionService({ storage });
    const text = begin + '🎈'.repeat(600_000);
    const session = await service.createSession(KEY);
    await service.appendEvent({ session, event: event('one', text) });
    const stored = await service.getSession(KEY);
    expect(stored?.events[0]?.content?.parts?.[0]?.text === text).toBe(true);
    await service.deleteSession(KEY);
    await service.sweep();
    expect(storage.sql.exec('SELECT count(*) AS rows FROM eventloom_value_pieces').one()['rows']).toBe(0);
  }),
);

test('a value of app state lies in its row: one that no row takes is refused, and nothing is changed', () =>
  inObject(async ({ service }) => {
    const session = await service.createSession({ ...KEY, state: { 'app:key': LARGE } });
    const append = service.appendEvent({ session, event: event('one', '', { 'app:key': 'x'.repeat(2_000_000) }) });
    await expect(append).rejects.toThrow(SizeLimitError);
    const stored = await service.getSession(KEY);
    expect([stored?.events, stored?.state]).toEqual([[], { 'app:key': LARGE }]);
  }));
