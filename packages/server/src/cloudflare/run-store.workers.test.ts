import { runInDurableObject } from 'cloudflare:test';
import { type DurableObjectStorage, env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { RunStore } from './run-store.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

/** Gives a store over the storage of an object of its own. */
function withStore(work: (store: RunStore, storage: DurableObjectStorage) => void): Promise<void> {
  const stub = env.EVENTLOOM_USERS.getByName(`run-store-${crypto.randomUUID()}`);
  return runInDurableObject(stub, (_instance, { storage }) => work(new RunStore(storage, 0), storage));
}

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
  await withStore((store, storage) => {
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

test('an event that no row takes lies in several, and nothing is added to them', async () => {
  await withStore((store, storage) => {
    const pk = store.open(KEY, 'e-1', 1);
    store.append(pk, 1, ['one', 'é'.repeat(1_050_000), 'three']);
    store.append(pk, 4, ['four']);
    expect(read(store, pk)).toEqual([
      [1, 'one'],
      [2, '1050000'],
      [3, 'three'],
      [4, 'four'],
    ]);
    expect(rowsOf(storage)).toBe(5);
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 1, lastSeq: 4 });
  });
});

test('of one run the newest 16 million characters are kept', async () => {
  await withStore((store, storage) => {
    const pk = store.open(KEY, 'e-1', 1);
    for (let seq = 1; seq <= 300; seq++) store.append(pk, seq, ['x'.repeat(60_000)]);
    const [row] = storage.sql.exec('SELECT sum(length(texts)) AS chars FROM eventloom_kept_run_chunks').toArray();
    expect(Number(row?.['chars'])).toBeGreaterThan(16_700_000);
    expect(Number(row?.['chars'])).toBeLessThan(16_900_000);
    const { firstSeq = 0, lastSeq } = store.find(KEY, 'e-1') ?? {};
    expect([lastSeq, read(store, pk)[0], read(store, pk).length]).toEqual([300, [firstSeq, '60000'], 301 - firstSeq]);
    const other = store.open(KEY, 'e-2', 1);
    store.append(other, 1, ['x'.repeat(500_000)]);
    expect(read(store, pk)[0]).toEqual([firstSeq, '60000']);
  });
});

test('of ended runs the newest 200 are kept, and a run that goes on is not counted out', async () => {
  await withStore((store) => {
    store.open(KEY, 'e-on', 1);
    for (let run = 0; run < 201; run++) store.end(store.open(KEY, `e-${run}`, 1), run, undefined);
    expect(store.find(KEY, 'e-0')).toBeUndefined();
    expect(store.find(KEY, 'e-1')).toBeDefined();
    expect(store.find(KEY, 'e-on')).toBeDefined();
  });
});

test('a session is forgotten with its ended runs, and no other', async () => {
  await withStore((store, storage) => {
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
  await withStore((store, storage) => {
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
