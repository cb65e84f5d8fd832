import { runInDurableObject } from 'cloudflare:test';
import { env } from 'cloudflare:workers';
import { expect, test } from 'vitest';
import { RunStore } from './run-store.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const MEGABYTE = 1024 * 1024;

function inStore(work: (store: RunStore) => void): Promise<void> {
  const stub = env.EVENTLOOM_USERS.getByName(crypto.randomUUID());
  return runInDurableObject(stub, (_instance, { storage }) => work(new RunStore(storage, 7)));
}

const textsOf = (store: RunStore, pk: number, afterSeq = 0): string[] =>
  Array.from(store.chunks(pk, afterSeq)).flatMap(({ texts }) => texts);

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

test('the newest event is kept however large it is', () =>
  inStore((store) => {
    const pk = store.open(KEY, 'e-1', 1);
    store.append(pk, 1, ['"small"']);
    store.append(pk, 2, ['x'.repeat(18 * MEGABYTE)]);
    expect(store.find(KEY, 'e-1')).toMatchObject({ firstSeq: 2, lastSeq: 2, goneSeq: 1 });
    expect(textsOf(store, pk)[0]?.length).toBe(18 * MEGABYTE);
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
    expect(Array.from(store.chunks(pk, 2, 1_000_001)).map(({ firstSeq }) => firstSeq)).toEqual([3]);
    expect(store.reopen(pk, 2_000_001)).toEqual(new Set(['one', 'two', 'three']));
  }));
