import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { RunNotFoundError, ServerBusyError, SlowReaderError, TooManyReadersError } from '../errors.ts';
import { SSE_HEARTBEAT } from './sse-frame.ts';
import { KEY, readAll, say, setUp, streamOf, turn } from './fixtures/registered-runs.ts';

describe('the registry', () => {
  test('refuses more runs than it takes, and takes one when one ended', async () => {
    const { registry } = setUp({ maxRuns: 1 });
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(gate));
    expect(() => registry.start(KEY, streamOf())).toThrow(ServerBusyError);
    gate.open();
    await run.ended;
    await registry.start(KEY, streamOf()).ended;
    expect(registry.inFlight).toBe(0);
  });

  test('refuses runs while those in flight fill what is kept', async () => {
    const { registry } = setUp({ maxKeptChars: 100 });
    const gate = new Gate();
    registry.start(
      KEY,
      streamOf(say('a text that is long enough to fill everything that is kept here, and more'), gate),
    );
    await gate.reached;
    expect(() => registry.start(KEY, streamOf())).toThrow(ServerBusyError);
  });

  test('refuses more readers of one run than it serves', async () => {
    const { registry } = setUp({ maxReadersPerRun: 1 });
    const run = registry.start(KEY, streamOf(new Gate()));
    registry.read(run, 0);
    expect(() => registry.read(run, 0)).toThrow(TooManyReadersError);
  });

  test('lets readers go who take nothing, when others want their place, and none who reads', async () => {
    const { registry, platform } = setUp({ maxReadersPerRun: 3 });
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(say('one'), gate, say('two')));
    await gate.reached;
    const gone = registry.read(run, 0).stream.getReader();
    await gone.read();
    const beat = gone.read();
    const neverRead = registry.read(run, 0).stream;
    const lives = readAll(registry.read(run, 0).stream);
    await turn(platform);
    expect(() => registry.read(run, 0)).toThrow(TooManyReadersError);
    await turn(platform);
    platform.advance(1000);
    expect(run.followers.size).toBe(1);
    expect(new TextDecoder().decode((await beat).value)).toBe(SSE_HEARTBEAT);
    await expect(gone.read()).rejects.toThrow(SlowReaderError);
    await expect(neverRead.getReader().read()).rejects.toThrow(SlowReaderError);
    const late = readAll(registry.read(run, 0).stream);
    gate.open();
    expect([await late, await lives]).toEqual([
      ['1 one', '2 two'],
      ['1 one', SSE_HEARTBEAT.trim(), '2 two'],
    ]);
  });

  test('keeps a finished run for a time', async () => {
    const { registry, platform } = setUp({ keepRunsMs: 1000 });
    const run = registry.start(KEY, streamOf(say('one')));
    await run.ended;
    platform.advance(999);
    expect(registry.find(KEY, run.invocationId)).toBe(run);
    platform.advance(1);
    expect(() => registry.find(KEY, run.invocationId)).toThrow(RunNotFoundError);
    expect(platform.pendingTimers).toBe(0);
  });

  test('keeps so many finished runs, and the oldest goes first', async () => {
    const { registry } = setUp({ maxKeptRuns: 2 });
    const ended = [];
    for (const text of ['one', 'two', 'three']) {
      const run = registry.start(KEY, streamOf(say(text)));
      await run.ended;
      ended.push(run.invocationId);
    }
    const [first = '', second = '', third = ''] = ended;
    expect(() => registry.find(KEY, first)).toThrow(RunNotFoundError);
    expect(registry.find(KEY, second).isEnded && registry.find(KEY, third).isEnded).toBe(true);
  });

  test('gives finished runs a quarter of the memory', async () => {
    const { registry } = setUp({ maxKeptChars: 4 * 250 });
    const first = registry.start(KEY, streamOf(say('one')));
    await first.ended;
    const second = registry.start(KEY, streamOf(say('two')));
    await second.ended;
    expect(() => registry.find(KEY, first.invocationId)).toThrow(RunNotFoundError);
    expect(registry.find(KEY, second.invocationId)).toBe(second);
  });

  test.each([
    ['app', { ...KEY, appName: 'other' }],
    ['user', { ...KEY, userId: 'bob' }],
    ['session', { ...KEY, sessionId: 'other' }],
  ])('does not find a run under another %s', async (_what, key) => {
    const { registry } = setUp();
    const run = registry.start(KEY, streamOf(new Gate()));
    expect(() => registry.find(key, run.invocationId)).toThrow(RunNotFoundError);
  });

  test('ends and forgets the runs of a session that is deleted, and no others', async () => {
    const { registry } = setUp();
    const finished = registry.start(KEY, streamOf(say('one')));
    await finished.ended;
    const running = registry.start(KEY, streamOf(say('one'), new Gate()));
    const other = registry.start({ ...KEY, sessionId: 'other' }, streamOf(new Gate()));
    await registry.forgetSession(KEY);
    expect(running.isEnded).toBe(true);
    expect(other.isEnded).toBe(false);
    for (const { invocationId } of [finished, running]) {
      expect(() => registry.find(KEY, invocationId)).toThrow(RunNotFoundError);
    }
  });

  test('lets others have a turn while an agent never waits', async () => {
    const { registry, platform } = setUp();
    const run = registry.start(KEY, streamOf(say('x'.repeat(20_000)), say('x'.repeat(600_000))));
    await platform.nextTimer();
    expect(run.buffer.lastSeq).toBe(1);
    platform.advance(0);
    await platform.nextTimer();
    expect(run.buffer.lastSeq).toBe(2);
  });
});
