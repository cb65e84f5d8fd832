import {
  AgentError,
  createEvent,
  type Event,
  RunAbortedError,
  serializeEvent,
  SessionBusyError,
} from '@eventloom/core';
import { fixedPlatform, Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { RunNotFoundError } from '../errors.ts';
import type { BeginRun, RunEvents } from './hosted-run.ts';
import { KEY, readAll, say, setUp, streamOf, turn } from './fixtures/registered-runs.ts';

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

  test('ends for those who wait for it when a follower throws', async () => {
    const { registry, reported } = setUp();
    const run = registry.start(KEY, streamOf());
    const failure = new Error('cannot be told');
    const notify = (): void => {
      throw failure;
    };
    run.follow({ notify, probe: () => undefined });
    await run.ended;
    await turn(fixedPlatform());
    expect([registry.inFlight, reported]).toEqual([0, [failure]]);
  });

  test('that fails before its first event, unheard of, is not kept', async () => {
    const { registry } = setUp();
    const run = registry.start(KEY, streamOf(new AgentError('no')));
    await run.ended;
    expect(() => registry.find(KEY, run.invocationId)).toThrow(RunNotFoundError);
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

  test('takes the id of its stream when it begins, and keeps the readers that it had before', async () => {
    const { registry } = setUp();
    const [taken, said] = [new Gate(), new Gate()];
    const run = registry.start(KEY, going(taken, said), { invocationId: 'e-expected' });
    expect([run.invocationId, registry.find(KEY, 'e-expected')]).toEqual(['e-expected', run]);
    const reading = readAll(registry.read(run, 0).stream);
    taken.open();
    await said.reached;
    expect([run.invocationId, registry.find(KEY, 'e-left')]).toEqual(['e-left', run]);
    expect(() => registry.find(KEY, 'e-expected')).toThrow(RunNotFoundError);
    said.open();
    expect(await reading).toEqual([`${run.buffer.firstSeq} one`]);
    expect([registry.inFlight, registry.find(KEY, 'e-left')]).toEqual([0, run]);
  });

  test.each([true, false])('releases its events when it never had its session (unasked: %s)', async (isUnasked) => {
    const long = say('x'.repeat(150));
    const { registry } = setUp({ maxKeptChars: 3 * serializeEvent(long).length });
    const resumed = { invocationId: 'e-left' };
    const begin =
      (event: Event): BeginRun =>
      (signal) =>
        Object.assign(streamOf(event)(signal), resumed);
    await registry.start(KEY, begin(say('before')), resumed).ended;
    await registry.start(KEY, begin(long), { ...resumed, isUnasked }).ended;
    await registry.start(KEY, begin(long), { ...resumed, isUnasked }).ended;
    const gate = new Gate();
    registry.start(KEY, streamOf(long, gate));
    await gate.reached;
    expect(() => registry.start(KEY, streamOf())).not.toThrow();
  });
});
