import {
  AgentError,
  createEvent,
  type Event,
  RunAbortedError,
  SessionBusyError,
  ShuttingDownError,
} from '@eventloom/core';
import { type FixedPlatform, fixedPlatform, Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { RunEventsGoneError } from '../errors/run-events-gone-error.ts';
import { RunNotFoundError } from '../errors/run-not-found-error.ts';
import { ServerBusyError } from '../errors/server-busy-error.ts';
import { SlowReaderError } from '../errors/slow-reader-error.ts';
import { TooManyReadersError } from '../errors/too-many-readers-error.ts';
import { DEFAULT_LIMITS, type ServerLimits } from '../server-limits.ts';
import type { BeginRun, RunEvents } from './hosted-run.ts';
import { RunRegistry } from './run-registry.ts';
import { SSE_HEARTBEAT } from './sse-frame.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };

interface Setup {
  readonly registry: RunRegistry;
  readonly platform: FixedPlatform;
  readonly reported: unknown[];
}

function setUp(limits: Partial<ServerLimits> = {}): Setup {
  const platform = fixedPlatform();
  const reported: unknown[] = [];
  const registry = new RunRegistry(platform, { ...DEFAULT_LIMITS, ...limits }, (error) => reported.push(error));
  return { registry, platform, reported };
}

type Item = Event | Gate | Error;

let runs = 0;
/** A run that yields what it is given, waits at gates, and throws errors. It ends with RunAbortedError when it is aborted. */
function streamOf(...items: Item[]): (signal: AbortSignal) => RunEvents {
  const invocationId = `e-${++runs}`;
  return (signal) => {
    async function* play(): AsyncGenerator<Event, void, undefined> {
      for (const item of items) {
        if (item instanceof Gate) await item.pass(signal);
        else if (item instanceof Error) throw item;
        else yield item;
        if (signal.aborted) throw new RunAbortedError('the run was aborted');
      }
    }
    return Object.assign(play(), { invocationId });
  };
}

const say = (text: string, partial?: boolean): Event =>
  createEvent({ id: text, author: 'a', content: { parts: [{ text }] }, ...(partial ? { partial } : {}) });

/** The ids and data of what a reader gets, until its stream ends. */
async function readAll(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  return (await readTexts(stream)).map(shorten);
}

function shorten(frame: string): string {
  const id = /^id: (\d+)/m.exec(frame)?.[1] ?? '-';
  const data: unknown = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? 'null');
  if (data === null) return frame;
  const { id: text, code } = data as { id?: string; code?: string };
  return `${id} ${text ?? code}`;
}

async function readTexts(stream: ReadableStream<Uint8Array>): Promise<string[]> {
  return (await new Response(stream).text()).split('\n\n').filter((frame) => frame !== '');
}

/** Settles when everything had its turn that needs no time. */
const turn = (platform: FixedPlatform): Promise<void> => new Promise((resolve) => void platform.schedule(0, resolve));

describe('a run', () => {
  test('is read from its first event to its end', async () => {
    const { registry } = setUp();
    const run = registry.start(KEY, streamOf(say('one'), say('two')));
    expect(await readAll(registry.read(run, 0).stream)).toEqual(['1 one', '2 two']);
  });

  test('gives its session back when the server cannot take in what it says', async () => {
    const { registry } = setUp();
    let isGivenBack = false;
    const begin = (): RunEvents => {
      async function* play(): AsyncGenerator<Event, void, undefined> {
        try {
          yield say('one');
          yield createEvent({ author: 'a', customMetadata: { size: 1n } });
        } finally {
          isGivenBack = true;
        }
      }
      return Object.assign(play(), { invocationId: 'e-big' });
    };
    const run = registry.start(KEY, begin);
    await run.ended;
    expect([run.failure?.constructor, isGivenBack]).toEqual([TypeError, true]);
  });

  test('goes on when its reader goes away', async () => {
    const { registry } = setUp();
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(say('one'), gate, say('two')));
    await gate.reached;
    await registry.read(run, 0).stream.cancel();
    gate.open();
    await run.ended;
    expect(await readAll(registry.read(run, 1).stream)).toEqual(['2 two']);
  });

  test('is read by several at once, each from where it likes', async () => {
    const { registry } = setUp();
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(say('one', true), say('two', true), gate, say('three')));
    await gate.reached;
    const all = readAll(registry.read(run, 0).stream);
    const rest = readAll(registry.read(run, 1).stream);
    gate.open();
    expect(await all).toEqual(['1 one', '2 two', '3 three']);
    expect(await rest).toEqual(['2 two', '3 three']);
  });

  test('that fails says so in a last line with a number of its own', async () => {
    const { registry, reported } = setUp();
    const failure = new AgentError('no');
    const run = registry.start(KEY, streamOf(say('one'), failure));
    expect(await readAll(registry.read(run, 0).stream)).toEqual(['1 one', '2 AGENT']);
    expect(run.finalSeq).toBe(2);
    expect(reported).toEqual([failure]);
  });

  test('that is cancelled tells the reason', async () => {
    const { registry } = setUp();
    const gate = new Gate();
    const run = registry.start(KEY, streamOf(say('one'), gate, say('two')));
    await gate.reached;
    run.abort(new RunAbortedError('the run was cancelled'));
    expect(await readAll(registry.read(run, 0).stream)).toEqual(['1 one', '2 RUN_ABORTED']);
    expect(run.failure?.message).toBe('the run was cancelled');
  });

  test('that fails before its first event, unheard of, is not kept', async () => {
    const { registry } = setUp();
    const run = registry.start(KEY, streamOf(new AgentError('no')));
    await run.ended;
    expect(() => registry.find(KEY, run.invocationId)).toThrow(RunNotFoundError);
  });
});

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

describe('a run that goes on unasked', () => {
  /** Takes its session at one gate and says something behind another. */
  function going(taken: Gate, said: Gate, items: { failure?: Error } = {}): BeginRun {
    return (signal, onBegin) => {
      async function* play(): AsyncGenerator<Event, void, undefined> {
        await taken.pass(signal);
        if (items.failure) throw items.failure;
        onBegin();
        await said.pass(signal);
        yield say('one');
      }
      return Object.assign(play(), { invocationId: 'e-left' });
    };
  }

  test('is found when it has its session, and is not started twice', async () => {
    const { registry } = setUp();
    const [taken, said] = [new Gate(), new Gate()];
    const resumed = { invocationId: 'e-left', isUnasked: true };
    const run = registry.start(KEY, going(taken, said), resumed);
    expect(() => registry.find(KEY, 'e-left')).toThrow(RunNotFoundError);
    expect(() => registry.start(KEY, streamOf(), { invocationId: 'e-left' })).toThrow(SessionBusyError);
    taken.open();
    await said.reached;
    expect(registry.find(KEY, 'e-left')).toBe(run);
    said.open();
    await run.ended;
    expect(registry.find(KEY, 'e-left')).toBe(run);
  });

  test('was never there when it does not get its session, and what is kept of it stays', async () => {
    const { registry } = setUp();
    const opened = new Gate();
    opened.open();
    const before = registry.start(KEY, going(opened, opened), { invocationId: 'e-left' });
    await before.ended;
    const failure = new SessionBusyError('somebody else has it');
    const run = registry.start(KEY, going(opened, opened, { failure }), { invocationId: 'e-left', isUnasked: true });
    await run.ended;
    expect(registry.find(KEY, 'e-left')).toBe(before);
  });
});
