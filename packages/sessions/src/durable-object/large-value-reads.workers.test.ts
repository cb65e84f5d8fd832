import type { Event, GetSessionConfig } from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DurableObjectSessionService } from './durable-object-session-service.ts';
import { event, inObject, KEY, LARGE } from './fixtures/object-with-bucket.ts';

test('a value missing in the bucket is a coded error', () => {
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
      await expect(async () => service.getSession(KEY)).rejects.toMatchObject({ code: 'CONFIGURATION' });
    },
    { put },
  );
});

// The test stores and reads 22 MB several times.
test('a page of large events is limited by memory, and its cursor continues in either order', () =>
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
  }));

test('a read returns current values if earlier ones are replaced, deleted and swept during it', async () => {
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
      const append = async () => service.appendEvent({ session, event: event('one', '', { 'user:k': `${LARGE}!` }) });
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

test('calls made during the write of a large value complete first, each atomically', async () => {
  const gate = Promise.withResolvers<void>();
  await inObject(
    async ({ service }) => {
      const session = await service.createSession(KEY);
      const other = await service.createSession({ ...KEY, sessionId: 'other' });
      const large = service.appendEvent({ session, event: event('large', LARGE, { key: 'large' }) });
      // A bucket that does not answer delays no other call.
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

test('choosing a page reads no events outside it', () =>
  runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
    const service = new DurableObjectSessionService({ storage });
    const session = await service.createSession(KEY);
    for (const id of ['1', '2', '3']) await service.appendEvent({ session, event: event(id, 'é'.repeat(500_000)) });
    // Bytes are in the header of a row; characters would have to be counted.
    expect(await service.countWithin({ ...KEY, config: { afterSeq: 0 } }, 2_100_000)).toBe(2);
  }));
