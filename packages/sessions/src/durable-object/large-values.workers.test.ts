import { SizeLimitError, StaleWriterError } from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DurableObjectSessionService } from './durable-object-session-service.ts';
import type { LargeValueBucket } from './large-values.ts';
import { event, inObject, KEY, LARGE } from './fixtures/object-with-bucket.ts';

test('every kind of large value is in the bucket while it is referenced, and deleted afterwards', () =>
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
    const call = { invocationId: 'e-1', entryId: 'c', name: 'tool', response: { text: LARGE } };
    await service.recordToolCall(lease, { ...call, status: 'started' });
    expect(await left()).toBe(4);
    const changed = { ...call, response: { text: `${LARGE}!` }, actions: { stateDelta: { key: LARGE } } };
    await service.recordToolCall(lease, { ...changed, status: 'finished' });
    expect(await left()).toBe(5);
    // The event itself is large as well. The state at creation is the initial state, which is kept.
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

test('equal values are stored separately, so that one can be deleted', () =>
  inObject(async ({ service, stored }) => {
    const session = await service.createSession({ ...KEY, state: { one: LARGE, two: LARGE } });
    await service.appendEvent({ session, event: event('gone', '', { one: 1 }) });
    await service.sweep();
    expect(await stored()).toBe(2);
    expect((await service.getSession(KEY))?.state).toEqual({ one: 1, two: LARGE });
  }));

test('the large values of a refused append are deleted', () =>
  inObject(async ({ service, stored }) => {
    const session = await service.createSession(KEY);
    const lease = await service.acquireLease(KEY);
    await service.releaseLease(lease);
    await expect(async () => service.appendEvent({ session, event: event('late', LARGE), lease })).rejects.toThrow(
      StaleWriterError,
    );
    expect([await stored(), service.hasLoose]).toEqual([1, true]);
    await service.sweep();
    expect([await stored(), service.hasLoose]).toEqual([0, false]);
  }));

test('large values written before a lost commit are deleted by the next instance', async () => {
  const reached = Promise.withResolvers<void>();
  await inObject(
    async ({ service, stored, reopen }) => {
      const session = await service.createSession(KEY);
      void service.appendEvent({ session, event: event('never', LARGE) });
      await reached.promise;
      expect(service.hasLoose).toBe(true);
      await service.sweep();
      expect(await stored()).toBe(1);
      const after = reopen();
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

test('an append is a StorageError and changes nothing if the bucket refuses its value', () =>
  inObject(
    async ({ service }) => {
      const session = await service.createSession(KEY);
      const append = async () => service.appendEvent({ session, event: event('one', LARGE, { key: 1 }) });
      await expect(append).rejects.toThrow('the bucket is unreachable');
      const stored = await service.getSession(KEY);
      expect([stored?.events, stored?.state]).toEqual([[], {}]);
      expect(session.events).toEqual([]);
    },
    { put: () => Promise.reject(new RangeError('the bucket is unreachable')) },
  ));

test('a value whose deletion failed is deleted by a later sweep', async () => {
  let isUnavailable = true;
  await inObject(
    async ({ service, stored }) => {
      const session = await service.createSession(KEY);
      await service.appendEvent({ session, event: event('one', LARGE) });
      await service.deleteSession(KEY);
      await expect(service.sweep()).rejects.toThrow('the bucket is unreachable');
      expect(service.hasLoose).toBe(true);
      isUnavailable = false;
      await service.sweep();
      expect([await stored(), service.hasLoose]).toEqual([0, false]);
    },
    {
      delete: (keys) =>
        isUnavailable ? Promise.reject(new RangeError('the bucket is unreachable')) : env.ARTIFACTS.delete(keys),
    },
  );
});

test('a value is recorded as unreferenced, and an alarm set, before it is written to the bucket', () => {
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

test('values in a bucket that was unbound for a while are deleted once it is bound again', () =>
  inObject(async ({ service, storage, stored, reopen }) => {
    const session = await service.createSession(KEY);
    await service.appendEvent({ session, event: event('one', LARGE) });
    const without = new DurableObjectSessionService({ storage, maxRowBytes: 250 });
    await without.deleteSession(KEY);
    expect(without.hasLoose).toBe(false);
    await without.sweep();
    const again = reopen();
    expect([again.hasLoose, await stored()]).toEqual([true, 1]);
    await again.sweep();
    expect([again.hasLoose, await stored()]).toEqual([false, 0]);
  }));

test('a value of more than 16 MiB is refused', () =>
  inObject(async ({ service, stored }) => {
    const session = await service.createSession(KEY);
    const append = async (chars: number) =>
      service.appendEvent({ session, event: event(`${chars}`, 'x'.repeat(chars)) });
    await expect(append(16_777_216)).rejects.toThrow(SizeLimitError);
    expect(await stored()).toBe(0);
    await append(16_770_000);
    expect(await stored()).toBe(1);
  }));
