import { SizeLimitError } from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { limitRows } from '@eventloom/test-workers';
import { DurableObjectSessionService } from './durable-object-session-service.ts';
import { event, inObject, KEY, LARGE } from './fixtures/object-with-bucket.ts';

test.each(['', 'x'])('a surrogate pair after "%s" is never split between two rows', (begin) =>
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

test('a value of app state that exceeds a row is refused and changes nothing', () =>
  inObject(async ({ service }) => {
    const session = await service.createSession({ ...KEY, state: { 'app:key': LARGE } });
    const append = async () =>
      service.appendEvent({ session, event: event('one', '', { 'app:key': 'x'.repeat(2_000_000) }) });
    await expect(append).rejects.toThrow(SizeLimitError);
    const stored = await service.getSession(KEY);
    expect([stored?.events, stored?.state]).toEqual([[], { 'app:key': LARGE }]);
  }));

test.each([1_900_000, 970_000])(
  "a tool's response and actions are in separate rows if they are too large for one: %i",
  (chars) =>
    runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
      const service = new DurableObjectSessionService({ storage });
      limitRows(storage);
      await service.createSession(KEY);
      const lease = await service.acquireLease(KEY);
      const text = 'x'.repeat(chars);
      const call = {
        invocationId: 'e-1',
        entryId: 'c'.repeat(2000),
        name: 'n'.repeat(256),
        status: 'finished',
      } as const;
      const entry = { ...call, response: { text }, actions: { stateDelta: { text } } };
      await service.recordToolCall(lease, entry);
      expect(await service.listToolCalls({ ...KEY, invocationId: 'e-1' })).toEqual([entry]);
    }),
);

test('the test storage refuses a row over 2 MB', () =>
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
