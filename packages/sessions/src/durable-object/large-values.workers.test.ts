import {
  createEvent,
  type Event,
  type GetSessionConfig,
  type SessionKey,
  SizeLimitError,
  StaleWriterError,
} from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { limitRows } from '@eventloom/test-workers';
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
      expect(service.hasLoose).toBe(true);
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
    limitRows(storage);
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

// It stores and reads 22 MB several times.
test(
  'a page of events is as long as memory allows, and those behind it are read with its cursor, either way and in an export',
  { timeout: 30_000 },
  () =>
    inObject(async ({ service }) => {
      const session = await service.createSession(KEY);
      const lengths = [5_000_000, 1, 4_000_000, 4_000_000, 2, 3, 9_000_000];
      for (const [index, length] of lengths.entries()) {
        await service.appendEvent({ session, event: event(String(index), 'x'.repeat(length)) });
      }
      const idsOf = (events: readonly Event[]) => events.map(({ id }) => id).join('');
      const pages = async (order: 'asc' | 'desc'): Promise<string[]> => {
        const found: string[] = [];
        for (let cursor: string | undefined; found.length === 0 || cursor !== undefined;) {
          const page = await service.listEvents({ ...KEY, order, cursor });
          found.push(idsOf(page.events));
          cursor = page.nextCursor;
        }
        return found;
      };
      expect(await pages('asc')).toEqual(['01', '2345', '6']);
      expect(await pages('desc')).toEqual(['6', '54321', '0']);
      const exported: Event[] = [];
      for await (const record of service.exportSession(KEY)) if (record.type === 'event') exported.push(record.event);
      expect(idsOf(exported)).toBe('0123456');
      const countWithin = (config: GetSessionConfig) => service.countWithin({ ...KEY, config }, 4_100_000);
      expect(await countWithin({ afterSeq: 0 })).toBe(1);
      expect(await countWithin({ afterSeq: 1 })).toBe(2);
      expect(await countWithin({ beforeSeq: 7, numRecentEvents: 100 })).toBe(3);
      expect(await countWithin({ beforeSeq: 7, numRecentEvents: 2 })).toBe(2);
    }),
);

test('a read is of the values that are there when it ends, though those it began with were replaced, or deleted, and swept meanwhile', async () => {
  let reached = Promise.withResolvers<void>();
  let gate = Promise.withResolvers<void>();
  gate.resolve();
  await inObject(
    async ({ service }) => {
      const session = await service.createSession({ ...KEY, state: { 'user:k': LARGE } });
      const midway = async (change: () => Promise<unknown>) => {
        [reached, gate] = [Promise.withResolvers(), Promise.withResolvers()];
        const read = service.getSession(KEY);
        await reached.promise;
        await change();
        await service.sweep();
        gate.resolve();
        return read;
      };
      const append = () => service.appendEvent({ session, event: event('one', '', { 'user:k': `${LARGE}!` }) });
      expect((await midway(append))?.state).toEqual({ 'user:k': `${LARGE}!` });
      const removed = { ...event('two'), actions: { stateDelta: {}, artifactDelta: {}, removedState: ['user:k'] } };
      await service.appendEvent({ session, event: removed });
      expect(await midway(() => service.deleteSession(KEY))).toBeUndefined();
    },
    {
      get: async (key) => {
        reached.resolve();
        await gate.promise;
        return env.ARTIFACTS.get(key);
      },
    },
  );
});

test.each([1_900_000, 970_000])(
  'no row has both the response of a tool and its actions when they are too large for one: %i',
  (chars) =>
    runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
      const service = new DurableObjectSessionService({ storage });
      limitRows(storage);
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const text = 'x'.repeat(chars);
      const call = {
        invocationId: 'e-1',
        callId: 'c'.repeat(2000),
        name: 'n'.repeat(256),
        status: 'finished',
      } as const;
      const entry = { ...call, response: { text }, actions: { stateDelta: { text } } };
      await service.recordToolCall(lease, entry);
      expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([entry]);
    }),
);

test('the storage of tests refuses a row over 2 MB', () =>
  runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), (_instance, { storage }) => {
    new DurableObjectSessionService({ storage });
    limitRows(storage);
    const insert = (size: number) =>
      storage.sql
        .exec("INSERT OR REPLACE INTO eventloom_app_state VALUES ('app', 'key', ?1)", 'é'.repeat(size))
        .toArray();
    insert(999_000);
    expect(() => insert(1_000_000)).toThrow('a row over 2 MB');
  }));

test('a value is durably known as loose, and its owner told, before the bucket has it', () => {
  const steps: string[] = [];
  const bucket: LargeValueBucket = {
    put: async () => void steps.push('written'),
    get: async () => null,
    delete: async () => undefined,
  };
  return runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
    const watched = {
      sql: { exec: (query: string, ...bindings: (null | number | string)[]) => storage.sql.exec(query, ...bindings) },
      transactionSync: <T>(write: () => T) => storage.transactionSync(write),
      sync: async () => {
        await storage.sync();
        steps.push('durable');
      },
    };
    const onLoose = (): void => void steps.push(`loose ${service.hasLoose}`);
    const service = new DurableObjectSessionService({ storage: watched, bucket, maxRowBytes: 250, onLoose });
    await service.createSession({ ...KEY, state: { key: LARGE } }).catch(() => undefined);
    expect(steps.slice(0, 3)).toEqual(['loose true', 'durable', 'written']);
  });
});

test('what lies in a bucket that the object has no more is deleted when it has it again', () =>
  inObject(async ({ service, storage, stored, anew }) => {
    const session = await service.createSession(KEY);
    await service.appendEvent({ session, event: event('one', LARGE) });
    const without = new DurableObjectSessionService({ storage, maxRowBytes: 250 });
    await without.deleteSession(KEY);
    expect(without.hasLoose).toBe(false);
    await without.sweep();
    const again = anew();
    expect([again.hasLoose, await stored()]).toEqual([true, 1]);
    await again.sweep();
    expect([again.hasLoose, await stored()]).toEqual([false, 0]);
  }));

test('a value of more than 16 MiB is refused, and one of less is not', () =>
  inObject(async ({ service, stored }) => {
    const session = await service.createSession(KEY);
    const append = (chars: number) => service.appendEvent({ session, event: event(`${chars}`, 'x'.repeat(chars)) });
    await expect(append(16_777_216)).rejects.toThrow(SizeLimitError);
    expect(await stored()).toBe(0);
    await append(16_770_000);
    expect(await stored()).toBe(1);
  }));

test('calls made while a large value is written overtake the one that waits for it, and each is whole', async () => {
  const gate = Promise.withResolvers<void>();
  await inObject(
    async ({ service }) => {
      const session = await service.createSession(KEY);
      const other = await service.createSession({ ...KEY, sessionId: 'other' });
      const large = service.appendEvent({ session, event: event('large', LARGE, { key: 'large' }) });
      // A bucket that does not answer holds up nobody else.
      await service.appendEvent({ session: other, event: event('other') });
      await service.appendEvent({ session, event: event('small', '', { key: 'small' }) });
      gate.resolve();
      await large;
      const stored = await service.getSession(KEY);
      expect(stored?.events.map(({ id }) => id)).toEqual(['small', 'large']);
      expect(stored?.state).toEqual({ key: 'large' });
      expect([session.events.map(({ id }) => id), session.lastSeq]).toEqual([['small', 'large'], 2]);
    },
    {
      put: async (key, value) => {
        await gate.promise;
        return env.ARTIFACTS.put(key, value);
      },
    },
  );
});

test('events that are not asked for are not read to count those that fit', () =>
  runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
    const service = new DurableObjectSessionService({ storage });
    const session = await service.createSession(KEY);
    for (const id of ['1', '2', '3']) await service.appendEvent({ session, event: event(id, 'é'.repeat(500_000)) });
    // Bytes are in the header of a row; characters would have to be counted.
    expect(await service.countWithin({ ...KEY, config: { afterSeq: 0 } }, 2_100_000)).toBe(2);
  }));
