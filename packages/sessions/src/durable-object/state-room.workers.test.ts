import { createEvent, type SessionKey, SizeLimitError } from '@eventloom/core';
import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { DurableObjectAppState } from './durable-object-app-state.ts';
import { DurableObjectSessionService } from './durable-object-session-service.ts';

const KEY: SessionKey = { appName: 'app', userId: 'user', sessionId: 'session' };
const MEGABYTE = 'x'.repeat(1_000_000);
const ids = Array.from({ length: 20 }, (_, index) => String(index));

/** Runs work inside a new object. `queries` has the service's queries that measure state. */
function inObject(
  work: (service: DurableObjectSessionService, queries: string[], storage: DurableObjectStorage) => Promise<void>,
): Promise<void> {
  return runInDurableObject(env.STORAGE.get(env.STORAGE.newUniqueId()), async (_instance, { storage }) => {
    const queries: string[] = [];
    const exec = (query: string, ...bindings: (null | number | string)[]) => {
      if (query.includes('sum(size)')) queries.push(query);
      return storage.sql.exec(query, ...bindings);
    };
    const transactionSync = <T>(write: () => T): T => storage.transactionSync(write);
    await work(new DurableObjectSessionService({ storage: { sql: { exec }, transactionSync } }), queries, storage);
  });
}

function change(stateDelta: Record<string, unknown>, removedState: string[] = []) {
  return createEvent({ author: 'agent', actions: { stateDelta, artifactDelta: {}, removedState } });
}

test.each([
  { scope: "a session's own", prefix: '', most: 16, whose: 'session' },
  { scope: "a user's", prefix: 'user:', most: 3, whose: 'user' },
  { scope: "an app's", prefix: 'app:', most: 3, whose: 'app' },
])('$scope state is bounded as a whole, however it is written', ({ prefix, most, whose }) =>
  inObject(async (service) => {
    const { state: _state, ...rest } = await service.createSession(KEY);
    const session = { ...rest, state: {} };
    const stateOf = async () => Object.keys((await service.getSession(KEY))?.state ?? {});
    const append = async (...keys: string[]) => {
      const value = keys.length === 1 ? MEGABYTE : 'x'.repeat(1_900_000);
      return service.appendEvent({
        session,
        event: change(Object.fromEntries(keys.map((key) => [prefix + key, value]))),
      });
    };
    for (const id of ids.slice(0, most)) await append(id);
    const before = await stateOf();
    expect(before.length).toBe(most);
    for (const refused of [append('more'), append('0', '1')]) {
      await expect(refused).rejects.toThrow(SizeLimitError);
      await expect(refused).rejects.toThrow(`the state of the ${whose} takes`);
    }
    const all = Object.fromEntries(ids.map((id) => [prefix + id, MEGABYTE]));
    const other = { ...KEY, sessionId: 'other' };
    await expect(service.createSession({ ...other, state: all })).rejects.toThrow(SizeLimitError);
    expect([await stateOf(), session.events.length, await service.getSession(other)]).toEqual([
      before,
      most,
      undefined,
    ]);
    await append('0');
    await service.appendEvent({ session, event: change({}, [`${prefix}0`]) });
    await append('more');
    expect((await stateOf()).length).toBe(most);
  }),
);

test('many small keys count with their size in a read', () =>
  inObject(async (service) => {
    const keys = Array.from({ length: 40_000 }, (_, index) => `user:${index}`);
    const state = Object.fromEntries(keys.map((key) => [key, 1]));
    await expect(service.createSession({ ...KEY, state })).rejects.toThrow(SizeLimitError);
  }));

test('state is measured only when it may be too large', () =>
  inObject(async (service, queries) => {
    const session = await service.createSession({ ...KEY, state: { first: 1 } });
    queries.length = 0;
    for (const id of ids) await service.appendEvent({ session, event: change({ [id]: id, 'user:key': id }) });
    // The user's state, before and after its first write.
    expect(queries.length).toBe(2);
    for (const id of ids.slice(0, 10)) await service.appendEvent({ session, event: change({ [id]: MEGABYTE }) });
    expect([queries.length > 2, queries.length < 12]).toEqual([true, true]);
    queries.length = 0;
    for (const _id of ids) await service.appendEvent({ session, event: change({}) });
    expect(queries).toEqual([]);
  }));

test('undone changes and other scopes do not count towards the limit', () =>
  inObject(async (service) => {
    const session = await service.createSession(KEY);
    const keys = ids.slice(0, 16);
    for (const key of keys) await service.appendEvent({ session, event: change({ [key]: MEGABYTE }) });
    // Removes everything, and is refused because of its write to the user's state.
    await service.appendEvent({ session, event: change({ 'app:small': 1, 'user:small': 1 }) });
    const event = change({ own: 1, 'user:large': [MEGABYTE, MEGABYTE, MEGABYTE, MEGABYTE] }, keys);
    await expect(async () => service.appendEvent({ session, event })).rejects.toThrow(SizeLimitError);
    const more = async () => service.appendEvent({ session, event: change({ more: MEGABYTE }) });
    await expect(more).rejects.toThrow(SizeLimitError);
  }));

test('state over the limit can be read and reduced, and events can be appended', () =>
  inObject(async (service, _queries, storage) => {
    const session = await service.createSession(KEY);
    for (const id of ids) {
      const insert = 'INSERT INTO eventloom_session_state VALUES (CAST(?1 AS INTEGER), ?2, ?3)';
      storage.sql.exec(insert, Number(session.incarnation), id, JSON.stringify(MEGABYTE));
    }
    new DurableObjectAppState(storage).apply(
      'app',
      1,
      ids.slice(0, 6).map((key) => ({ key, value: JSON.stringify(MEGABYTE) })),
    );
    expect(Object.keys((await service.getSession(KEY))?.state ?? {}).length).toBe(26);
    const append = async (delta: Record<string, unknown>, removed?: string[]) =>
      service.appendEvent({ session, event: change(delta, removed) });
    await expect(append({ small: 1 })).rejects.toThrow(SizeLimitError);
    await expect(append({ 'app:small': 1 })).rejects.toThrow(SizeLimitError);
    await append({});
    await append({ '0': 1, 'app:0': 1 });
    await append({ small: 1 }, ids.slice(1));
    const state = (await service.getSession(KEY))?.state ?? {};
    expect([state['small'], state['0'], Object.keys(state).length]).toEqual([1, 1, 8]);
  }));

test('listing events does not read the state', () =>
  inObject(async (service) => {
    const session = await service.createSession({ ...KEY, state: { own: 1, 'user:own': 1, 'app:own': 1 } });
    for (const _id of ids) await service.appendEvent({ session, event: change({}) });
    const config = { afterSeq: 3, numRecentEvents: 4 };
    const whole = await service.getSession({ ...KEY, config });
    expect(await service.getWithoutState({ ...KEY, config })).toEqual({ ...whole, state: {} });
    expect(await service.getWithoutState({ ...KEY, sessionId: 'none' })).toBeUndefined();
  }));
