import {
  AgentError,
  createEvent,
  serializeEvent,
  SessionBusyError,
  ShuttingDownError,
  StaleWriterError,
  StorageError,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { Gate } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { ServerBusyError, TooManyReadersError, UserLimitError } from '../errors.ts';
import { keptOf, KEY, readAll, readerOf, readLog, say, setUp, turn } from './fixtures/played-runs.ts';
import type { RunLog } from './run-log.ts';
import { NUMBERED_SSE_FRAMES, SSE_HEARTBEAT } from '../http/run-response.ts';
import { RequestQuota } from '../http/user-quotas.ts';

describe('a run', () => {
  test('is read from its first event to its end', async () => {
    const { hub, play } = setUp();
    expect(await readAll(readLog(hub, play([say('one'), say('two')])))).toEqual(['1 one', '2 two']);
  });

  test('unlocks its session if its frames cannot be recorded', async () => {
    const { play, reported } = setUp();
    const log = play([say('one'), createEvent({ author: 'a', customMetadata: { size: 1n } })]);
    await log.ended;
    expect([log.end?.failure?.constructor, keptOf(log)]).toEqual([TypeError, ['1 one', expect.any(String)]]);
    expect(reported).toEqual([log.end?.failure]);
  });

  test('continues when its reader disconnects', async () => {
    const { hub, play } = setUp();
    const gate = new Gate();
    const log = play([say('one'), gate, say('two')]);
    await gate.reached;
    await readerOf(readLog(hub, log)).cancel();
    gate.open();
    await log.ended;
    expect(await readAll(readLog(hub, log, 1e9))).toEqual(['2 two']);
  });

  test('is read by several readers, each from its own position', async () => {
    const { hub, play } = setUp();
    const gate = new Gate();
    const log = play([say('one', true), say('two', true), gate, say('three')]);
    await gate.reached;
    const numbers = keptOf(log).map((frame) => frame.split(' ')[0] ?? '');
    const all = readAll(readLog(hub, log));
    const rest = readAll(readLog(hub, log, Math.round(Number(numbers[0]) * 1e9)));
    gate.open();
    expect(await all).toEqual([`${numbers[0]} one`, `${numbers[1]} two`, '1 three']);
    expect(await rest).toEqual([`${numbers[1]} two`, '1 three']);
    expect(numbers.map(Number).every((number) => number > 0 && number < 1)).toBe(true);
  });

  test('that fails has a numbered error frame at its end', async () => {
    const { hub, play, reported } = setUp();
    const failure = new AgentError('no');
    const log = play([say('one'), failure]);
    expect(await readAll(readLog(hub, log))).toEqual(['1 one', expect.stringMatching(/^1\.\d{1,9} AGENT$/)]);
    expect(reported).toEqual([failure]);
  });

  test('that fails and stays open ends with RUN_GOES_ON, without a number, and its storage failure is reported', async () => {
    const { hub, play, reported } = setUp();
    const gate = new Gate();
    const log = play([say('one'), gate, StorageError.of('the database', new Error('no'))], { leavesRunOpen: true });
    const reading = readAll(readLog(hub, log));
    gate.open();
    expect(await reading).toEqual(['1 one', 'retry: 2000', '- RUN_GOES_ON']);
    expect(hub.find(KEY, log.invocationId)).toBeUndefined();
    expect(reported).toMatchObject([{ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining('stays open: ') }]);
  });

  test.each([true, false])(
    'whose session another process took ends with its end, if there is one soon: %j',
    async (isEnded) => {
      const { play, platform } = setUp();
      const sessionService = new InMemorySessionService({ platform });
      await sessionService.createSession(KEY);
      const invocationId = 'e-taken';
      const eventOf = (text: string) => ({ ...say(text), invocationId });
      const message = { ...eventOf('hi'), author: 'user' };
      const { session, lease } = await sessionService.beginRun({ ...KEY, invocationId, resumable: true, message });
      await sessionService.appendEvent({ session, event: eventOf('one'), lease });
      const items = [say('one'), new StaleWriterError('another run took the session')];
      const log = play(items, { leavesRunOpen: true, invocationId, sessionService });
      for (const waitMs of [25, 50, 100, 200, 400]) {
        expect(await platform.nextTimer()).toBe(waitMs);
        if (isEnded && waitMs === 50) {
          await sessionService.appendEvent({ session, event: eventOf('two'), lease });
          await sessionService.releaseLease(lease);
        }
        platform.advance(waitMs);
        if (isEnded && waitMs === 50) break;
      }
      await log.ended;
      expect(keptOf(log)).toEqual(isEnded ? ['1 one', '2 two'] : ['1 one']);
      expect([log.end?.kind, log.earlyEnd?.code]).toEqual(
        isEnded ? ['copied', undefined] : ['continues', 'RUN_GOES_ON'],
      );
    },
  );

  test('that is cancelled ends with the reason', async () => {
    const { hub, play } = setUp();
    const gate = new Gate();
    const log = play([say('one'), gate, say('two')]);
    await gate.reached;
    hub.inFlightRun(KEY, log.invocationId)?.cancel();
    expect((await readAll(readLog(hub, log))).at(-1)).toMatch(/^1\.\d{1,9} RUN_ABORTED$/);
    expect(log.end?.failure?.message).toBe('the run was cancelled');
  });

  test('whose start the storage does not answer fails with an error that leaves open whether its message is stored', async () => {
    const { play } = setUp();
    const taken = new Gate();
    taken.open();
    const fault = StorageError.of('the database', new Error('connect ECONNREFUSED db.example'));
    const log = play([fault], { taken });
    await log.ended;
    expect(log.end?.failure).toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
      retryable: true,
      cause: { message: 'connect ECONNREFUSED db.example' },
      publicMessage:
        'the database is not available; try again; the message may have been stored nevertheless: read the session before you send it again',
    });
    const denied = play([StorageError.of('the database', new Error('permission denied'), false)], { taken });
    await denied.ended;
    expect(denied.end?.failure?.message).toBe('the database is not available: permission denied');
  });

  test('that fails before its first event without readers is not kept', async () => {
    const { hub, play } = setUp();
    const log = play([new AgentError('no')]);
    await log.ended;
    expect(hub.find(KEY, log.invocationId)).toBeUndefined();
  });

  test('leaves events that only record agent state out of its log', async () => {
    const { hub, play } = setUp();
    const agentState = createEvent({
      id: 'state',
      author: 'a',
      actions: { agentState: { step: 1 }, endOfAgent: true },
    });
    const withState = createEvent({
      id: 'state and more',
      author: 'a',
      actions: { endOfAgent: true, stateDelta: { a: 1 } },
    });
    const log = play([say('one'), agentState, withState, say('two')]);
    expect(await readAll(readLog(hub, log))).toEqual(['1 one', '3 state and more', '4 two']);
  });
});

describe('a run resumed by the server', () => {
  test('is found once it has its session, and is not started twice', async () => {
    const { hub, play } = setUp();
    const [taken, said] = [new Gate(), new Gate()];
    const log = play([said, say('one')], { invocationId: 'e-left', resumes: 'e-left', failsOnOpenRun: true, taken });
    expect(hub.find(KEY, 'e-left')).toBeUndefined();
    expect(() => play([], { resumes: 'e-left' })).toThrow(SessionBusyError);
    taken.open();
    await said.reached;
    expect(hub.find(KEY, 'e-left')).toBe(log);
    said.open();
    await log.ended;
    expect(hub.find(KEY, 'e-left')).toBe(log);
  });

  test('that does not get its session leaves the kept log unchanged', async () => {
    const { hub, play } = setUp();
    const before = play([say('before')], { invocationId: 'e-left' });
    await before.ended;
    const how = { invocationId: 'e-left', resumes: 'e-left', failsOnOpenRun: true, taken: new Gate() };
    how.taken.open();
    await play([new SessionBusyError('no')], how).ended;
    expect(hub.find(KEY, 'e-left')).toBe(before);
  });

  test('gets the id of its stream when it begins, and keeps its earlier readers', async () => {
    const { hub, play } = setUp();
    const [taken, said] = [new Gate(), new Gate()];
    const log = play([said, say('one')], { invocationId: 'e-left', resumes: 'e-expected', taken, beginOffset: 4 });
    expect([log.invocationId, hub.inFlightRun(KEY, 'e-expected')?.log]).toEqual(['e-expected', log]);
    const reading = readAll(readLog(hub, log));
    taken.open();
    await said.reached;
    expect([log.invocationId, hub.find(KEY, 'e-left')]).toEqual(['e-left', log]);
    expect(hub.find(KEY, 'e-expected')).toBeUndefined();
    said.open();
    expect(await reading).toEqual(['5 one']);
    expect([hub.inFlight, hub.find(KEY, 'e-left')]).toEqual([0, log]);
  });

  test.each([true, false])(
    'releases its memory if it never had its session (resumed by the server: %s)',
    async (failsOnOpenRun) => {
      const long = say('x'.repeat(150));
      const { play } = setUp({ maxKeptChars: 3 * serializeEvent(long).length });
      const how = { invocationId: 'e-left', resumes: 'e-left' };
      await play([say('before')], how).ended;
      for (let time = 0; time < 2; time++) {
        const taken = new Gate();
        taken.open();
        await play([new AgentError('x'.repeat(150))], { ...how, failsOnOpenRun, taken }).ended;
      }
      const gate = new Gate();
      play([long, gate]);
      await gate.reached;
      expect(() => play([])).not.toThrow();
    },
  );
});

describe('the hub', () => {
  test('refuses runs of a session while it is deleted, and no others', async () => {
    const { hub, play } = setUp();
    await hub.whileDeleting(KEY, async () => {
      expect(() => play([])).toThrow('the session was deleted');
      await play([], { key: { ...KEY, userId: 'bob' } }).ended;
    });
    await play([]).ended;
    const failed = hub.whileDeleting(KEY, () => Promise.reject(new StorageError('no')));
    await expect(failed).rejects.toThrow(StorageError);
    await play([]).ended;
  });

  test('refuses runs over the limit until one has ended', async () => {
    const { hub, play } = setUp({ maxRuns: 1 });
    const gate = new Gate();
    const log = play([gate]);
    expect(() => play([])).toThrow(ServerBusyError);
    gate.open();
    await log.ended;
    await play([]).ended;
    expect(hub.inFlight).toBe(0);
  });

  test('drops events of the user with most kept events when the memory limit is reached, and starts further runs', async () => {
    const { hub, play } = setUp({ maxKeptChars: 1500 });
    const full = Array.from({ length: 6 }, (_none, index) => say(`a${index}`));
    const gates = [new Gate(), new Gate(), new Gate()];
    const [larger, smaller] = [
      play([...full, gates[0] ?? new Gate()]),
      play([...full.slice(0, 4), gates[1] ?? new Gate()]),
    ];
    await Promise.all(gates.slice(0, 2).map((gate) => gate.reached));
    const ofBob = play([say('b0'), say('b1'), say('b2'), gates[2] ?? new Gate()], { key: { ...KEY, userId: 'bob' } });
    const received = readAll(readLog(hub, ofBob));
    await gates[2]?.reached;
    expect(ofBob.count).toBe(3);
    expect(larger.count).toBeLessThan(6);
    expect(larger.chars + smaller.chars + ofBob.chars).toBeLessThanOrEqual(1500);
    for (const gate of gates) gate.open();
    expect(await received).toEqual(['1 b0', '2 b1', '3 b2']);
  });

  test('counts a completed run that is not kept until its last reader has read it', async () => {
    const { hub, play } = setUp({ maxKeptChars: 2000, maxKeptRuns: 0 });
    const events = Array.from({ length: 6 }, (_none, index) => say(`${index}`));
    const run = play(events);
    const unread = readerOf(readLog(hub, run));
    await run.ended;
    const gates = [new Gate(), new Gate()];
    const next = play([...events, ...events, gates[0] ?? new Gate()]);
    await gates[0]?.reached;
    expect(run.chars + next.chars).toBeLessThanOrEqual(2000);
    await unread.cancel();
    hub.inFlightRun(KEY, next.invocationId)?.cancel();
    await next.ended;
    const last = play([...events, ...events, gates[1] ?? new Gate()]);
    await gates[1]?.reached;
    expect(last.count).toBe(12);
    hub.inFlightRun(KEY, last.invocationId)?.cancel();
  });

  test('limits the readers of one run', () => {
    const { hub, play } = setUp({ maxReadersPerRun: 1 });
    const log = play([new Gate()]);
    readLog(hub, log);
    expect(() => readLog(hub, log)).toThrow(TooManyReadersError);
  });

  test('disconnects stalled readers, but not active ones, when others need their place', async () => {
    const { hub, play, platform } = setUp({ maxReadersPerRun: 3 });
    const gate = new Gate();
    const log = play([say('one'), gate, say('two')]);
    await gate.reached;
    const gone = readerOf(readLog(hub, log));
    await gone.read();
    const beat = gone.read();
    const neverRead = readerOf(readLog(hub, log));
    const lives = readAll(readLog(hub, log));
    await turn(platform);
    expect(() => readLog(hub, log)).toThrow(TooManyReadersError);
    await turn(platform);
    platform.advance(1000);
    expect(log.readers.size).toBe(1);
    expect(new TextDecoder().decode((await beat).value)).toBe(SSE_HEARTBEAT);
    for (const reader of [gone, neverRead]) {
      expect(new TextDecoder().decode((await reader.read()).value)).toContain('"code":"SLOW_READER"');
      expect((await reader.read()).done).toBe(true);
    }
    const late = readAll(readLog(hub, log));
    gate.open();
    expect([await late, await lives]).toEqual([
      ['1 one', '2 two'],
      ['1 one', SSE_HEARTBEAT.trim(), '2 two'],
    ]);
  });

  test('limits the connections of one user, and disconnects stalled ones', async () => {
    const { hub, play, platform } = setUp({ maxReadersPerUser: 2 });
    const gate = new Gate();
    const log = play([say('one'), gate]);
    const ofBob = play([say('one'), gate], { key: { ...KEY, userId: 'bob' } });
    await turn(platform);
    const service = new InMemorySessionService({ platform });
    const follow = async ({ key, invocationId }: RunLog) =>
      readerOf(
        (await hub.follower.follow({ service, key, id: invocationId, position: 0, format: NUMBERED_SSE_FRAMES }))
          .body ?? '',
      );
    const lives = readAll(readLog(hub, log));
    const takesNothing = await follow(log);
    await expect(follow(log)).rejects.toThrow(UserLimitError);
    await follow(ofBob);
    platform.advance(1000);
    expect(new TextDecoder().decode((await takesNothing.read()).value)).toContain('"code":"SLOW_READER"');
    await follow(log);
    expect([log.readers.size, ofBob.readers.size]).toEqual([2, 1]);
    gate.open();
    expect(await lives).toEqual(['1 one', SSE_HEARTBEAT.trim()]);
  });

  test('keeps a completed run for keepMs', async () => {
    const { hub, play, platform } = setUp({ keepRunsMs: 1000 });
    const log = play([say('one')]);
    await log.ended;
    platform.advance(999);
    expect(hub.find(KEY, log.invocationId)).toBe(log);
    platform.advance(1);
    expect(hub.find(KEY, log.invocationId)).toBeUndefined();
    expect(platform.pendingTimers).toBe(0);
  });

  test('limits the number of kept runs, and removes the oldest first', async () => {
    const { hub, play } = setUp({ maxKeptRuns: 2 });
    const logs = [];
    for (const text of ['one', 'two', 'three']) {
      const log = play([say(text)]);
      await log.ended;
      logs.push(log);
    }
    expect(logs.map((log) => hub.find(KEY, log.invocationId) === log)).toEqual([false, true, true]);
  });

  test.each([
    ['runs', { maxKeptRuns: 3 }],
    ['characters', { maxKeptChars: 4 * 500 }],
  ])('removes completed runs of the user with the most %s first', async (_what, limits) => {
    const { hub, play } = setUp(limits);
    const logs = [];
    for (const userId of ['ann', 'bob', 'bob', 'bob', 'bob', 'cat']) {
      const log = play([say('one')], { key: { ...KEY, userId } });
      await log.ended;
      logs.push(log);
    }
    const kept = logs.map(({ key, invocationId }) => hub.find(key, invocationId) !== undefined);
    expect(kept).toEqual([true, false, false, false, true, true]);
  });

  test('gives completed runs a quarter of the memory', async () => {
    const { hub, play } = setUp({ maxKeptChars: 4 * 250 });
    const first = play([say('one')]);
    await first.ended;
    const second = play([say('two')]);
    await second.ended;
    expect([hub.find(KEY, first.invocationId), hub.find(KEY, second.invocationId)]).toEqual([undefined, second]);
  });

  test.each([
    ['app', { ...KEY, appName: 'other' }],
    ['user', { ...KEY, userId: 'bob' }],
    ['session', { ...KEY, sessionId: 'other' }],
  ])('does not find a run under another %s', (_what, key) => {
    const { hub, play } = setUp();
    expect(hub.find(key, play([new Gate()]).invocationId)).toBeUndefined();
  });

  test('ends and forgets only the runs of a deleted session', async () => {
    const { hub, play } = setUp();
    const finished = play([say('one')]);
    await finished.ended;
    const running = play([say('one'), new Gate()]);
    const other = play([new Gate()], { key: { ...KEY, sessionId: 'other' } });
    await hub.forgetSession(KEY);
    expect([running.isEnded, other.isEnded]).toEqual([true, false]);
    for (const { invocationId } of [finished, running]) expect(hub.find(KEY, invocationId)).toBeUndefined();
  });

  test('lets other work run while an agent never waits', async () => {
    const { play, platform } = setUp();
    const log = play([say('x'.repeat(3_000)), say('x'.repeat(150_000)), say('x')]);
    await platform.nextTimer();
    expect(log.count).toBe(1);
    platform.advance(0);
    await platform.nextTimer();
    expect(log.count).toBe(2);
  });

  test.each([
    { runsOfUser: 1, pauses: 6 },
    { runsOfUser: 32, pauses: 64 },
  ])(
    'shares the time of a user between the runs: $runsOfUser of them, $pauses pauses',
    async ({ runsOfUser, pauses }) => {
      const { play, platform, quotas } = setUp();
      new RequestQuota(quotas, KEY.userId).count('runs', runsOfUser);
      const log = play(Array.from({ length: 64 }, () => say('x'.repeat(1000))));
      let paused = 0;
      for (const ended = log.ended.then(() => 'ended'); ; paused++) {
        if ((await Promise.race([platform.nextTimer(), ended])) === 'ended') break;
        platform.advance(0);
      }
      expect(paused).toBe(pauses);
    },
  );

  test('lets other work run while an agent only stores its progress', async () => {
    const { hub, play, platform } = setUp();
    const states = Array.from({ length: 1000 }, (_, step) =>
      createEvent({ author: 'a', actions: { agentState: { step } } }),
    );
    const log = play([...states, say('done')]);
    await platform.nextTimer();
    expect([log.isEnded, log.count]).toEqual([false, 0]);
    hub.inFlightRun(KEY, log.invocationId)?.cancel();
    platform.advance(0);
    await log.ended;
    expect(log.end?.failure?.message).toBe('the run was cancelled');
  });
});

describe('draining', () => {
  test('starts no further run', async () => {
    const { hub, play } = setUp();
    await hub.drain(1000);
    expect(hub.isDraining).toBe(true);
    expect(() => play([])).toThrow(ShuttingDownError);
  });

  test('lets a run finish in the first half of the time, and asks its readers to reconnect', async () => {
    const { hub, play } = setUp();
    const gate = new Gate();
    const log = play([gate, say('one')]);
    const frames = readAll(readLog(hub, log));
    const drained = hub.drain(1000);
    gate.open();
    await drained;
    expect(await frames).toEqual(['retry: 2000', '1 one']);
    expect(log.end?.failure).toBeUndefined();
  });

  test('asks readers that connect during the drain to reconnect', async () => {
    const { hub, play } = setUp();
    const gate = new Gate();
    const log = play([gate, say('one')]);
    const drained = hub.drain(1000);
    const frames = readAll(readLog(hub, log));
    gate.open();
    await drained;
    expect(await frames).toEqual(['retry: 2000', '1 one']);
  });

  test('stops a run at its next commit in the second half', async () => {
    const { hub, play, platform } = setUp();
    const gate = new Gate();
    const log = play([gate, say('chunk', true), say('committed'), say('never')]);
    const frames = readAll(readLog(hub, log));
    const drained = hub.drain(1000);
    platform.advance(500);
    gate.open();
    await drained;
    // Frames of one tick are joined; the clock stands still, so only the end flushes them.
    expect((await frames).at(-1)).toMatch(/^1\.\d+ RUN_ABORTED$/);
    expect(keptOf(log)).toEqual([expect.stringMatching(/ chunk$/), '1 committed', expect.any(String)]);
  });

  test('aborts a run that never commits at the end of the time', async () => {
    const { hub, play, platform } = setUp();
    const log = play([new Gate()]);
    const drained = hub.drain(1000);
    platform.advance(1000);
    await drained;
    expect(log.end?.failure).toMatchObject({ code: 'RUN_ABORTED', cause: expect.any(ShuttingDownError) });
  });

  test('ends a run whose end cannot be stored with RUN_GOES_ON for its readers, and reports why', async () => {
    const { hub, play, platform, reported } = setUp();
    const log = play([say('one'), new Promise<never>(() => undefined)]);
    const frames = readAll(readLog(hub, log));
    await log.firstFrame;
    const drained = hub.drain(1000);
    platform.advance(2000);
    await drained;
    await log.ended;
    expect(await frames).toEqual(['1 one', 'retry: 2000', 'retry: 2000', '- RUN_GOES_ON']);
    expect(log.earlyEnd).toMatchObject({ code: 'RUN_GOES_ON', cause: expect.any(StorageError) });
    const message = `the run ${log.invocationId} of session "s" stays open: the storage did not answer`;
    expect(reported).toEqual([
      expect.objectContaining({ code: 'STORAGE_UNAVAILABLE', message: expect.stringContaining(message) }),
    ]);
  });

  test('reports a run once that ends after the server stopped waiting for it', async () => {
    const { hub, play, platform, reported } = setUp();
    const answer = Promise.withResolvers<never>();
    const log = play([say('one'), answer.promise]);
    await log.firstFrame;
    const drained = hub.drain(1000);
    platform.advance(2000);
    await drained;
    answer.reject(StorageError.of('the database', new Error('no')));
    await turn(platform);
    expect([reported.length, keptOf(log)]).toEqual([1, ['1 one']]);
  });

  test('fails a request whose message the storage did not answer, and says that it may be stored', async () => {
    const { hub, play, platform, reported } = setUp();
    const taken = new Gate();
    taken.pass = () => new Promise<never>(() => undefined);
    const log = play([], { taken });
    const drained = hub.drain(1000);
    platform.advance(2000);
    await drained;
    await log.ended;
    expect(log.end?.failure).toBeInstanceOf(StorageError);
    expect(log.end?.failure?.message).toContain('the message may have been stored nevertheless');
    expect(reported).toEqual([log.end?.failure]);
  });
});
