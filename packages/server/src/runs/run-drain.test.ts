import { ShuttingDownError } from '@eventloom/core';
import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { KEY, readAll, say, setUp, streamOf } from './fixtures/registered-runs.ts';

describe('draining', () => {
  test('starts no run any more', async () => {
    const { registry } = setUp();
    await registry.drain(1000);
    expect(registry.isDraining).toBe(true);
    expect(() => registry.start(KEY, streamOf())).toThrow(ShuttingDownError);
  });

  test('lets a run finish in the first half of the time, and asks its readers to come again', async () => {
    const { registry } = setUp();
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(gate, say('one')));
    const frames = readAll(registry.read(run, 0).stream);
    const drained = registry.drain(1000);
    gate.open();
    await drained;
    expect(await frames).toEqual(['retry: 2000', '1 one']);
    expect(run.failure).toBeUndefined();
  });

  test('asks readers that come while it lasts to come again too', async () => {
    const { registry } = setUp();
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(gate, say('one')));
    const drained = registry.drain(1000);
    const frames = readAll(registry.read(run, 0).stream);
    gate.open();
    await drained;
    expect(await frames).toEqual(['retry: 2000', '1 one']);
  });

  test('stops a run at its next commit in the second half', async () => {
    const { registry, platform } = setUp();
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(gate, say('chunk', true), say('committed'), say('never')));
    const frames = readAll(registry.read(run, 0).stream);
    const drained = registry.drain(1000);
    platform.advance(500);
    gate.open();
    await drained;
    // What a reader writes in one tick is gathered; the clock stands still, so only the end lets it go.
    expect((await frames).slice(-1)).toEqual(['3 SHUTTING_DOWN']);
    expect(run.buffer.at(2)).toContain('committed');
    expect(run.buffer.lastSeq).toBe(2);
  });

  test('stops a run that never commits when the time is over', async () => {
    const { registry, platform } = setUp();
    const run = registry.start(KEY, streamOf(new Gate()));
    const drained = registry.drain(1000);
    platform.advance(1000);
    await drained;
    expect(run.failure).toBeInstanceOf(ShuttingDownError);
  });

  test('leaves a run to itself that does not even end then', async () => {
    const { registry, platform } = setUp();
    const never = new Promise<never>(() => undefined);
    const run = registry.start(KEY, () =>
      Object.assign(
        (async function* () {
          yield await never;
        })(),
        { invocationId: 'e-stuck' },
      ),
    );
    const drained = registry.drain(1000);
    platform.advance(2000);
    await drained;
    expect(run.isEnded).toBe(false);
  });
});
