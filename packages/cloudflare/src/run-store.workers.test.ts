import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { RunStore } from './run-store.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const MEGABYTE = 1024 * 1024;

function inStore(work: (store: RunStore, storage: DurableObjectStorage) => void): Promise<void> {
  const stub = env.EVENTLOOM_USERS.getByName(crypto.randomUUID());
  return runInDurableObject(stub, (_instance, { storage }) => work(new RunStore(storage, 7), storage));
}

const textsOf = (store: RunStore, pk: number, afterSeq = 0): string[] =>
  Array.from(store.chunks(pk, afterSeq)).flatMap(({ texts }) => texts);

function read(store: RunStore, pk: number, afterSeq = 0): [number, string][] {
  return Array.from(store.chunks(pk, afterSeq))
    .flatMap(({ firstSeq, texts }) =>
      texts.map((text, at): [number, string] => [firstSeq + at, text.length > 20 ? `${text.length}` : text]),
    )
    .filter(([seq]) => seq > afterSeq);
}

const rowsOf = (storage: DurableObjectStorage): number =>
  storage.sql.exec('SELECT 1 FROM eventloom_kept_run_chunks').toArray().length;

test('events are read with their numbers, from any of them on, and small ones lie many to a row', async () => {
  await inStore((store, storage) => {
    const pk = store.open(KEY, 'e-1', 1);
    for (let seq = 1; seq <= 99; seq += 2) store.append(pk, seq, [`a${seq}`, `a${seq + 1}`]);
    expect(rowsOf(storage)).toBe(1);
    expect(read(store, pk)).toEqual(Array.from({ length: 100 }, (_, at) => [at + 1, `a${at + 1}`]));
    store.append(pk, 101, ['x'.repeat(40_000), 'last']);
    expect(read(store, pk, 100)).toEqual([
      [101, '40000'],
      [102, 'last'],
    ]);
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 1, lastSeq: 102, isEnded: false });
  });
});

test('of ended runs the newest 200 are kept, and a run that goes on is not counted out', async () => {
  await inStore((store) => {
    store.open(KEY, 'e-on', 1);
    for (let run = 0; run < 201; run++) store.end(store.open(KEY, `e-${run}`, 1), run, undefined);
    expect(store.find(KEY, 'e-0')).toBeUndefined();
    expect(store.find(KEY, 'e-1')).toBeDefined();
    expect(store.find(KEY, 'e-on')).toBeDefined();
  });
});

test('a session is forgotten with its ended runs, and no other', async () => {
  await inStore((store, storage) => {
    const end = (key: typeof KEY, id: string) => {
      const pk = store.open(key, id, 1);
      store.append(pk, 1, ['x']);
      store.end(pk, 1, undefined);
    };
    end(KEY, 'e-1');
    end({ ...KEY, sessionId: 't' }, 'e-2');
    store.open(KEY, 'e-on', 1);
    store.forgetSession(KEY);
    expect(store.find(KEY, 'e-1')).toBeUndefined();
    expect(store.find({ ...KEY, sessionId: 't' }, 'e-2')).toBeDefined();
    expect(store.find(KEY, 'e-on')).toBeDefined();
    expect(rowsOf(storage)).toBe(1);
  });
});

test('what is stored of a long run takes a few rows: storing a piece reads and writes no more than the first one did', async () => {
  await inStore((store, storage) => {
    const pk = store.open(KEY, 'e-1', 1);
    let cost = { read: 0, written: 0 };
    const exec = (query: string, ...bindings: unknown[]) => {
      const cursor = storage.sql.exec(query, ...bindings);
      const rows = cursor.toArray();
      cost = { read: cost.read + cursor.rowsRead, written: cost.written + cursor.rowsWritten };
      return { toArray: () => rows };
    };
    const counted = new RunStore(
      {
        sql: { exec },
        transactionSync: (work) => storage.transactionSync(work),
        getAlarm: () => storage.getAlarm(),
        setAlarm: (ms) => storage.setAlarm(ms),
        sync: () => storage.sync(),
      },
      0,
    );
    cost = { read: 0, written: 0 };
    const pieces = Array.from({ length: 10 }, () => 'x'.repeat(200));
    for (let step = 0; step < 200; step++) counted.append(pk, 1 + 10 * step, pieces);
    expect(cost.written).toBeLessThan(220);
    expect(cost.read).toBeLessThan(1500);
  });
});

test('an event that no row takes is given back as it was, wherever its characters are cut', () =>
  inStore((store) => {
    const pk = store.open(KEY, 'e-1', 1);
    const texts = ['"small"', `"${'🎈'.repeat(MEGABYTE)}"`, `"x${'🎈'.repeat(MEGABYTE)}"`, '"last"'];
    store.append(pk, 1, texts);
    const stored = textsOf(store, pk);
    expect(stored.map((text, index) => text === texts[index])).toEqual([true, true, true, true]);
    expect(textsOf(store, pk, 3)).toEqual(['"last"']);
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 1, lastSeq: 4, goneSeq: 0 });
  }));

test('of a run that says more than is kept the oldest events go, and it is known that they were there', () =>
  inStore((store) => {
    const pk = store.open(KEY, 'e-1', 1);
    for (let seq = 1; seq <= 40; seq++) store.append(pk, seq, ['x'.repeat(MEGABYTE / 2)]);
    const kept = store.find(KEY, 'e-1');
    const { firstSeq = 0, lastSeq, goneSeq } = kept ?? {};
    expect(lastSeq).toBe(40);
    expect(goneSeq).toBe(firstSeq - 1);
    expect(firstSeq).toBeGreaterThan(40 - 36);
    expect(firstSeq).toBeLessThan(40 - 28);
    expect(textsOf(store, pk)).toHaveLength(41 - firstSeq);
  }));

test('one event is kept however large it is, and so much besides', () =>
  inStore((store) => {
    const pk = store.open(KEY, 'e-1', 1);
    for (const [index, size] of [5, 18 * MEGABYTE, MEGABYTE].entries()) store.append(pk, index + 1, ['x'.repeat(size)]);
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 1, lastSeq: 3, goneSeq: 0 });
    expect(textsOf(store, pk)[1]?.length).toBe(18 * MEGABYTE);
    store.append(pk, 4, ['x'.repeat(18 * MEGABYTE)]);
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 3, lastSeq: 4, goneSeq: 2 });
  }));

test('of a run that goes on what was committed stays with its numbers, and what was said of an unfinished answer goes', () =>
  inStore((store) => {
    const pk = store.open(KEY, 'e-1', 1);
    const event = (id: string, partial?: boolean): string => JSON.stringify({ id, partial });
    store.append(pk, 1, [event('p1', true), event('one')]);
    store.append(pk, 3, [event('two'), event('p2', true)]);
    store.append(pk, 5, [event('p3', true)]);
    expect(store.reopen(pk, 1_000_001)).toEqual(new Set(['one', 'two']));
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 1_000_001, lastSeq: 1_000_000, isEnded: false });
    expect(textsOf(store, pk)).toEqual([event('p1', true), event('one'), event('two')]);
    store.append(pk, 1_000_001, [event('three')]);
    expect(Array.from(store.chunks(pk, 2, 1_000_001)).map(({ firstSeq }) => firstSeq)).toEqual([1]);
    expect(store.reopen(pk, 2_000_001)).toEqual(new Set(['one', 'two', 'three']));
  }));
