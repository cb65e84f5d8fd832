import { Gate } from '@eventloom/testing';
import { describe, expect, test, vi } from 'vitest';
import { RunEventsGoneError } from '../errors.ts';
import { KEY, readAll, readTexts, say, setUp, shorten, streamOf } from './fixtures/registered-runs.ts';

describe('the writes of a reader', () => {
  test('are one for the first event, and one for all that follow in the same tick', async () => {
    const { registry, platform } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = registry.start(KEY, streamOf(gate, say('one'), say('two'), say('three'), end));
    const reader = registry.read(run, 0).stream.getReader();
    const decoder = new TextDecoder();
    const first = reader.read();
    gate.open();
    expect(decoder.decode((await first).value)).toMatch(/^id: 1\ndata: \{.*\}\n\n$/);
    const second = reader.read();
    await end.reached;
    platform.advance(0);
    expect(decoder.decode((await second).value)).toMatch(/^id: 2\n.*\n\nid: 3\n.*\n\n$/);
  });

  test('are comments while the run is silent', async () => {
    const { registry, platform } = setUp({ heartbeatMs: 15_000 });
    const end = new Gate();
    const run = registry.start(KEY, streamOf(say('one'), end));
    const reader = registry.read(run, 0).stream.getReader();
    await reader.read();
    const beat = reader.read();
    await end.reached;
    platform.advance(30_000);
    expect(new TextDecoder().decode((await beat).value)).toBe(': heartbeat\n\n');
  });

  test('end with an error when nobody takes them', async () => {
    const { registry, platform } = setUp({ heartbeatMs: 1000 });
    const run = registry.start(KEY, streamOf(say('one'), new Gate()));
    const { stream } = registry.read(run, 0);
    platform.advance(3000);
    await expect(stream.getReader().read()).rejects.toMatchObject({ code: 'SLOW_READER' });
    expect(run.followers.size).toBe(0);
  });
});

describe('a connection that is cancelled', () => {
  test('gets nothing from the write that was gathering events', async () => {
    const { registry, platform } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = registry.start(KEY, streamOf(say('one'), gate, say('two'), end));
    const reader = registry.read(run, 0).stream.getReader();
    await reader.read();
    const next = reader.read();
    gate.open();
    await end.reached;
    await reader.cancel();
    platform.advance(0);
    expect(await next).toEqual({ done: true, value: undefined });
    expect(run.followers.size).toBe(0);
  });

  test('gets no heartbeat, no word of a drain and no end', async () => {
    const { registry, platform } = setUp({ heartbeatMs: 1000 });
    const end = new Gate();
    const run = registry.start(KEY, streamOf(end));
    const follower = registry.read(run, 0);
    const reader = follower.stream.getReader();
    const beat = reader.read();
    await end.reached;
    follower.probe();
    await beat;
    const next = reader.read();
    await reader.cancel();
    platform.advance(5000);
    const drained = registry.drain(1000);
    follower.say('late');
    end.open();
    await drained;
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

describe('a reader whose earlier events cannot be read', () => {
  const broken = {
    *[Symbol.iterator]() {
      yield { seq: 1, text: JSON.stringify(say('one')) };
      throw new TypeError('the storage failed');
    },
  };

  test('ends with an error that is reported, and the run goes on', async () => {
    const { registry, reported } = setUp();
    const [gate, end] = [new Gate(), new Gate()];
    const run = registry.start(KEY, streamOf(gate, say('two'), end));
    vi.spyOn(run, 'earlier').mockReturnValue(broken[Symbol.iterator]());
    const told = await readAll(registry.read(run, 0).stream);
    expect(told.at(-1)).toBe('- INTERNAL');
    expect(reported).toEqual([new TypeError('the storage failed')]);
    expect(run.followers.size).toBe(0);
    gate.open();
    end.open();
    await run.ended;
    expect(run.failure).toBeUndefined();
  });
});

describe('an event that is larger than all that is kept', () => {
  const huge = say('y'.repeat(1000), true);

  test('reaches who reads, also when something small comes behind it at once', async () => {
    const { registry } = setUp({ maxRunChars: 300 });
    const run = registry.start(KEY, streamOf(say('one'), huge, say('two')));
    const { stream } = registry.read(run, 0);
    await run.ended;
    expect((await readAll(stream)).map((frame) => frame.slice(0, 5))).toEqual(['1 one', '2 yyy', '3 two']);
  });

  test('is kept with so much besides, and no second one', async () => {
    const { registry } = setUp({ maxRunChars: 300 });
    const run = registry.start(KEY, streamOf(huge, say('two'), huge, say('four')));
    await run.ended;
    expect(run.buffer.firstSeq).toBe(2);
  });
});

describe('a reader that is slower than what is kept', () => {
  test('is not told that a run goes on which has ended', async () => {
    const { registry } = setUp({ maxRunChars: 300 });
    const run = registry.start(KEY, streamOf(say('one'), say('two'), say('three'), say('four')));
    const { stream } = registry.read(run, 0);
    await run.ended;
    const [told = ''] = await readTexts(stream);
    expect([shorten(told), told.includes('goes on')]).toEqual(['- SLOW_READER', false]);
  });

  test('is let go with a reason, and the run goes on', async () => {
    const { registry } = setUp({ maxRunChars: 300 });
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(say('one'), say('two'), say('three'), say('four'), gate, say('five')));
    const { stream } = registry.read(run, 0);
    await gate.reached;
    expect(run.buffer.firstSeq).toBeGreaterThan(1);
    const [told = ''] = await readTexts(stream);
    expect(shorten(told)).toBe('- SLOW_READER');
    expect(told).toContain('the run goes on');
    gate.open();
    await run.ended;
    expect(run.buffer.at(5)).toContain('five');
  });

  test('cannot ask for what is gone', async () => {
    const { registry } = setUp({ maxRunChars: 300 });
    const run = registry.start(KEY, streamOf(say('one'), say('two'), say('three'), say('four')));
    await run.ended;
    expect(() => registry.read(run, 0)).toThrow(RunEventsGoneError);
    expect(() => registry.read(run, 0)).toThrow(/follow the run from \d/);
  });
});
