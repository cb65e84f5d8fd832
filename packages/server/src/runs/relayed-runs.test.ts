import {
  type BegunRun,
  createEvent,
  RunAbortedError,
  type SessionKey,
  StaleWriterError,
  StorageError,
} from '@eventloom/core';
import { LlmAgent } from '@eventloom/llm-agent';
import { type CancelRunParams, Runner } from '@eventloom/runner';
import { InMemorySessionService } from '@eventloom/sessions';
import { fixedPlatform, Gate, ScriptedModel } from '@eventloom/testing';
import { describe, expect, test, vi } from 'vitest';
import { RunGoesOnError, RunNotFoundError, RunRelayError } from '../errors.ts';
import { NUMBERED_SSE_FRAMES } from '../http/run-response.ts';
import { DEFAULT_LIMITS, type ServerLimits } from '../server-limits.ts';
import { keptOf, KEY, readAll, readLog, say, setUp as setUpHub } from './fixtures/played-runs.ts';
import type { LogMirror, RelayedLog, RelayHost, RemoteRun, RunFrame, RunPublication, RunRelay } from './run-relay.ts';

const ID = 'e-there';

/** Represents the other processes: a relay with one run, which the test plays. */
class ScriptedRelay implements RunRelay {
  remote: RemoteRun | undefined = { invocationId: ID, attempt: 1, gonePosition: 0, lastPosition: 0, end: undefined };
  readonly mirrors = new Set<LogMirror>();
  readonly asked: string[] = [];
  host: RelayHost | undefined;

  /** The error of `cancel`. */
  failure: Error | undefined;

  attach(host: RelayHost): void {
    this.host = host;
  }

  publish({ invocationId }: RelayedLog): RunPublication {
    const note = (what: string) => (): void => void this.asked.push(`${what} ${invocationId}`);
    return { announced: Promise.resolve(), notify: () => undefined, forget: note('forget') };
  }

  async find(): Promise<RemoteRun | undefined> {
    return this.remote;
  }

  follow(_key: SessionKey, _id: string, position: number, mirror: LogMirror): () => void {
    this.asked.push(`follow behind ${position / 1e9}`);
    this.mirrors.add(mirror);
    return () => void this.mirrors.delete(mirror);
  }

  async cancel(): Promise<void> {
    if (this.failure) throw this.failure;
    this.asked.push('cancel');
  }

  async forgetSession(): Promise<void> {
    this.asked.push('forget the session');
  }

  /** Publishes one event for each text, numbered from `firstSeq`. */
  tell(firstSeq: number, ...texts: string[]): void {
    const frames = texts.map((text, index) => frame(firstSeq + index, text));
    for (const mirror of this.mirrors) mirror.mirror(frames, (firstSeq - 1) * 1e9);
  }

  end(): void {
    for (const mirror of this.mirrors) mirror.mirrorEnded({ kind: 'ended' });
  }

  lose(): void {
    for (const mirror of this.mirrors) mirror.mirrorEnded({ kind: 'lost', error: new RunGoesOnError('gone') });
  }
}

function frame(seq: number, text: string): RunFrame {
  return { position: seq * 1e9, json: JSON.stringify(say(text)) };
}

function setUp(limits: Partial<ServerLimits> = {}) {
  const relay = new ScriptedRelay();
  const { hub, platform, play, reported } = setUpHub(limits, relay);
  const sessionService = new InMemorySessionService({ platform: fixedPlatform() });
  const unreachable = () => expect.unreachable();
  const agent = new LlmAgent({ name: 'a', model: new ScriptedModel([]) });
  const closing = new Runner({ appName: 'app', agent, sessionService });
  const runner = {
    appName: 'app',
    sessionService,
    runAsync: unreachable,
    cancelRun: (params: CancelRunParams) => closing.cancelRun(params),
  };
  /** Reads the run of the other process after an event. */
  const follow = async (seq = 0) =>
    (
      await hub.follower.follow({
        service: sessionService,
        key: KEY,
        id: ID,
        position: seq * 1e9,
        format: NUMBERED_SSE_FRAMES,
      })
    ).body;
  const read = async (seq = 0) => (await follow(seq)) ?? expect.unreachable();
  const cancel = () => hub.canceller.cancel(runner, KEY, ID);
  return { hub, relay, platform, play, reported, follow, read, cancel, sessionService };
}

/** Begins the run in its session, and stores one event for each text. */
async function beginStored(sessionService: InMemorySessionService, ...texts: string[]): Promise<BegunRun> {
  await sessionService.createSession(KEY);
  const eventOf = (text: string) => ({ ...say(text), invocationId: ID });
  const message = { ...eventOf('hi'), author: 'user' };
  const begun = await sessionService.beginRun({ ...KEY, invocationId: ID, resumable: true, message });
  const { session, lease } = begun;
  for (const text of texts) await sessionService.appendEvent({ session, event: eventOf(text), lease });
  return begun;
}

const CONTINUES_ELSEWHERE = ['retry: 2000', '- RUN_GOES_ON'];

describe('a run of another process', () => {
  test('is read as its host sends it', async () => {
    const { relay, read } = setUp();
    const received = readAll(await read());
    relay.tell(1, 'a', 'b');
    relay.tell(3, 'c');
    relay.end();
    expect(await received).toEqual(['1 a', '2 b', '3 c']);
  });

  test('is mirrored once for several readers, from its oldest frame, until the last reader leaves', async () => {
    const { relay, read } = setUp();
    relay.remote = { invocationId: ID, attempt: 1, gonePosition: 4e9, lastPosition: 9e9, end: undefined };
    const [one, other] = await Promise.all([read(4), read(8)]);
    expect([relay.asked, relay.mirrors.size]).toEqual([['follow behind 4'], 1]);
    await (one as ReadableStream).cancel();
    expect(relay.mirrors.size).toBe(1);
    await (other as ReadableStream).cancel();
    expect(relay.mirrors.size).toBe(0);
  });

  test.each([0, 7])(
    'is not found by a reader at %i if its host is lost and its session does not have it',
    async (seq) => {
      const { relay, read } = setUp();
      const received = readAll(await read(seq));
      relay.tell(1, 'a');
      relay.lose();
      expect(await received).toEqual([...(seq === 0 ? ['1 a'] : []), 'retry: 2000', '- RUN_NOT_FOUND']);
    },
  );

  test.each([true, false])('ends with its stored outcome if its host is lost (open: %j)', async (isOpen) => {
    const { relay, read, sessionService } = setUp();
    const { lease } = await beginStored(sessionService, 'a', 'b');
    if (!isOpen) await sessionService.releaseLease(lease);
    const received = readAll(await read());
    relay.tell(1, 'a');
    relay.lose();
    expect(await received).toEqual(isOpen ? ['1 a', ...CONTINUES_ELSEWHERE] : ['1 a', '2 b']);
  });

  test.each([true, false])('is read from its session where its frames were lost (reader waits: %j)', async (waits) => {
    const { relay, read, sessionService } = setUp();
    await beginStored(sessionService, 'a', 'b', 'c');
    const stream = await read();
    const received = waits ? readAll(stream) : undefined;
    relay.tell(1, 'a');
    // The process was killed before it published b and c, and another one resumed the run.
    relay.tell(4, 'd');
    relay.tell(5, 'e');
    relay.end();
    expect(await (received ?? readAll(stream))).toEqual(['1 a', '2 b', '3 c', '4 d', '5 e']);
  });

  test('continues after lost frames that are not events for readers', async () => {
    const { relay, read, sessionService } = setUp();
    const { session, lease } = await beginStored(sessionService, 'a');
    const progress = { invocationId: ID, author: 'a', actions: { agentState: { step: 1 } } };
    for (const id of ['p', 'q']) {
      const event = createEvent({ ...progress, id });
      await sessionService.appendEvent({ session, event, lease });
    }
    const findRun = vi.spyOn(sessionService, 'findRun');
    const received = readAll(await read());
    relay.tell(1, 'a');
    relay.tell(3);
    relay.tell(4);
    relay.tell(4, 'd');
    relay.end();
    expect(await received).toEqual(['1 a', '4 d']);
    // One search for the events up to 2, and one for those up to 3.
    expect(findRun).toHaveBeenCalledTimes(2);
  });

  test.each([true, false])('ends for readers that would miss chunks of a reply (open: %j)', async (isOpen) => {
    const { relay, read, sessionService } = setUp();
    const { lease } = await beginStored(sessionService, 'a', 'b');
    if (!isOpen) await sessionService.releaseLease(lease);
    const received = readAll(await read());
    relay.tell(1, 'a');
    for (const mirror of relay.mirrors) mirror.mirror([frame(1.001_000_009, 'chunk')], 1_001_000_008);
    relay.end();
    expect(await received).toEqual(isOpen ? ['1 a', ...CONTINUES_ELSEWHERE] : ['1 a', '2 b']);
  });

  test('ends with RUN_NOT_FOUND if its session is deleted while lost frames are read', async () => {
    const { relay, read, sessionService } = setUp();
    await beginStored(sessionService, 'a', 'b');
    const findRun = sessionService.findRun.bind(sessionService);
    sessionService.findRun = async (request) => {
      const found = await findRun(request);
      await sessionService.deleteSession(KEY);
      return found;
    };
    const received = readAll(await read());
    relay.tell(1, 'a');
    relay.tell(3, 'c');
    expect(await received).toEqual(['1 a', 'retry: 2000', '- RUN_NOT_FOUND']);
  });

  test('ends with RUN_GOES_ON if lost frames cannot be read from its session', async () => {
    const { relay, read, reported, sessionService } = setUp();
    const failure = new StorageError('the database does not answer');
    sessionService.findRun = () => Promise.reject(failure);
    const received = readAll(await read());
    relay.tell(1, 'a');
    relay.tell(4, 'd');
    expect(await received).toEqual(['1 a', ...CONTINUES_ELSEWHERE]);
    relay.tell(5, 'e');
    relay.end();
    expect(reported).toEqual([failure]);
  });

  test('that completed is not mirrored for a reader that has all frames', async () => {
    const { relay, follow } = setUp();
    relay.remote = { invocationId: ID, attempt: 1, gonePosition: 0, lastPosition: 3e9, end: { kind: 'ended' } };
    expect([await follow(3), relay.asked]).toEqual([undefined, []]);
    await expect(follow(4)).rejects.toMatchObject({ code: 'RUN_EVENT_NOT_FOUND' });
  });

  test('is read from its session after its reported end if it was resumed', async () => {
    const { relay, follow, sessionService } = setUp();
    relay.remote = { invocationId: ID, attempt: 1, gonePosition: 0, lastPosition: 1e9, end: { kind: 'ended' } };
    await sessionService.createSession(KEY);
    const eventOf = (text: string) => ({ ...say(text), invocationId: ID });
    const message = { ...eventOf('hi'), author: 'user' };
    const { session, lease } = await sessionService.beginRun({ ...KEY, invocationId: ID, resumable: true, message });
    const answer = { ...eventOf('answer'), author: 'user' };
    for (const event of [eventOf('a'), answer, eventOf('b')])
      await sessionService.appendEvent({ session, event, lease });
    await sessionService.releaseLease(lease);
    expect(await readAll((await follow(2)) ?? expect.unreachable())).toEqual(['3 b']);
  });

  test('is followed again while its message is not stored', async () => {
    const { relay, read, sessionService } = setUp();
    await sessionService.createSession(KEY);
    await sessionService.beginRun({ ...KEY, invocationId: ID, resumable: false });
    const received = readAll(await read());
    relay.lose();
    expect(await received).toEqual(['retry: 2000', '- RUN_NOT_BEGUN']);
    relay.remote = undefined;
    await expect(read()).rejects.toMatchObject({ code: 'RUN_NOT_BEGUN', retryable: true });
  });

  test('is released if it cannot be read', async () => {
    const { relay, read } = setUp({ maxReadersPerRun: 0 });
    await expect(read()).rejects.toMatchObject({ code: 'TOO_MANY_READERS' });
    expect(relay.mirrors.size).toBe(0);
  });

  test('is not found if no process has it', async () => {
    const { cancel, relay, read } = setUp();
    relay.remote = undefined;
    await expect(read()).rejects.toThrow(RunNotFoundError);
    await expect(cancel()).rejects.toThrow(RunNotFoundError);
  });

  test('counts towards kept memory while it is read', async () => {
    const { relay, play, read } = setUp({ maxKeptChars: 1000 });
    const stream = await read();
    relay.tell(1, 'x'.repeat(800));
    const gate = new Gate();
    const run = play([say('one'), say('two'), gate]);
    await gate.reached;
    expect(run.count).toBe(2);
    expect((await readAll(stream))[0]).toBe('- SLOW_READER');
  });

  test('is released when the server drains, and its readers are asked to reconnect', async () => {
    const { hub, relay, read } = setUp();
    const received = readAll(await read());
    relay.tell(1, 'a');
    await hub.drain(0);
    expect((await received).filter((text) => text !== 'retry: 2000')).toEqual(['1 a', '- RUN_GOES_ON']);
    expect(relay.mirrors.size).toBe(0);
  });
});

describe('a run taken over by another process', () => {
  test('is read from that process', async () => {
    const { hub, relay, play, read, sessionService } = setUp();
    const { session, lease } = await beginStored(sessionService, 'mine');
    const log = play([say('mine')], { invocationId: ID });
    await log.ended;
    await sessionService.endRun(lease, { session, outcome: { state: 'completed' } });
    relay.remote = {
      invocationId: ID,
      attempt: log.attempt,
      gonePosition: 0,
      lastPosition: 1e9,
      end: { kind: 'ended' },
    };
    expect(await readAll(await read())).toEqual(['1 mine']);
    relay.remote = { invocationId: ID, attempt: log.attempt + 1, gonePosition: 0, lastPosition: 1e9, end: undefined };
    const received = readAll(await read());
    relay.tell(1, 'theirs');
    relay.end();
    expect([await received, hub.find(KEY, ID)]).toEqual([['1 theirs'], log]);
  });
});

describe('cancelling a run of another process', () => {
  test('notifies its host and waits for its end', async () => {
    const { cancel, relay, platform } = setUp();
    const cancelled = cancel();
    await platform.nextTimer();
    expect(relay.asked).toEqual(['cancel', 'follow behind 0']);
    relay.end();
    expect(await cancelled).toBe(true);
    expect([relay.mirrors.size, platform.pendingTimers]).toEqual([0, 0]);
  });

  test('waits at most respondAfterMs', async () => {
    const { cancel, relay, platform } = setUp({ respondAfterMs: 700 });
    const cancelled = cancel();
    expect(await platform.nextTimer()).toBe(700);
    platform.advance(700);
    expect(await cancelled).toBe(false);
    expect(relay.mirrors.size).toBe(0);
  });

  test('says that the run may continue if the relay fails', async () => {
    const { cancel, relay } = setUp();
    relay.failure = new RunRelayError('the database did not answer; try again');
    const message =
      'the database did not answer; try again; the end of the run is not stored, so the run may continue: cancel it again';
    await expect(cancel()).rejects.toMatchObject({ code: 'RUN_RELAY', message, publicMessage: message });
  });

  test('does not affect a completed run', async () => {
    const { cancel, relay } = setUp();
    relay.remote = { invocationId: ID, attempt: 1, gonePosition: 0, lastPosition: 3e9, end: { kind: 'ended' } };
    expect(await cancel()).toBe(true);
    expect(relay.asked).toEqual([]);
  });

  test.each(['is lost', 'does not answer'])('stores its end in its locked session if its host %s', async (how) => {
    const { cancel, relay, platform, sessionService } = setUp();
    const { session, lease } = await beginStored(sessionService, 'a');
    // A client may send the request more than once.
    const cancelled = Promise.all([cancel(), cancel()]);
    await platform.nextTimer();
    if (how === 'is lost') relay.lose();
    else platform.advance(DEFAULT_LIMITS.respondAfterMs);
    expect(await cancelled).toEqual([true, true]);
    const { events = [] } = (await sessionService.getSession(KEY)) ?? {};
    expect(events.slice(2)).toMatchObject([{ errorCode: 'RUN_ABORTED', errorMessage: 'the run was cancelled' }]);
    await expect(
      Promise.resolve().then(() => sessionService.appendEvent({ session, event: say('b'), lease })),
    ).rejects.toThrow(StaleWriterError);
  });

  test('succeeds if the run ends meanwhile and another one has begun', async () => {
    const { cancel, relay, platform, sessionService } = setUp();
    const { lease } = await beginStored(sessionService);
    const findRun = sessionService.findRun.bind(sessionService);
    sessionService.findRun = async (request) => {
      const found = await findRun(request);
      if (found?.open) {
        await sessionService.releaseLease(lease);
        await sessionService.beginRun({ ...KEY, invocationId: 'e-next' });
      }
      return found;
    };
    const cancelled = cancel();
    await platform.nextTimer();
    relay.lose();
    expect(await cancelled).toBe(true);
    expect((await sessionService.listOpenRuns({ appName: 'app' })).runs).toMatchObject([{ invocationId: 'e-next' }]);
  });

  test('succeeds if its host is lost before it stored the run', async () => {
    const { cancel, relay, platform } = setUp();
    const cancelled = cancel();
    await platform.nextTimer();
    relay.lose();
    expect(await cancelled).toBe(true);
  });
});

describe('requests of other processes', () => {
  test('end a run of this process', async () => {
    const { hub, relay, play } = setUp();
    const log = play([new Gate()], { invocationId: 'e-here' });
    void readAll(readLog(hub, log));
    relay.host?.stop(KEY, 'e-here', 'cancel');
    await log.ended;
    expect(log.end?.failure).toEqual(new RunAbortedError('the run was cancelled', { cancelsCalls: true }));
    expect([hub.find(KEY, 'e-here'), keptOf(log)]).toEqual([log, [expect.any(String)]]);
  });

  test('remove it with its session', async () => {
    const { hub, relay, play, platform } = setUp();
    const log = play([new Gate()], { invocationId: 'e-here' });
    relay.host?.stop(KEY, 'e-here', 'forget');
    await platform.drain();
    expect([log.isEnded, log.end?.failure?.message]).toEqual([true, 'the session was deleted']);
    expect(hub.find(KEY, 'e-here')).toBeUndefined();
  });

  test('end a run that another process has ended with the stored end', async () => {
    const { hub, relay, play, sessionService } = setUp();
    const { lease } = await beginStored(sessionService, 'a', 'b');
    await sessionService.releaseLease(lease);
    const gate = new Gate();
    const log = play([say('a'), gate], { invocationId: ID, leavesRunOpen: true, sessionService });
    const received = readAll(readLog(hub, log));
    await gate.reached;
    relay.host?.stop(KEY, ID, 'cancel');
    expect(await received).toEqual(['1 a', '2 b']);
  });

  test('are ignored for an unknown run, and for the run of another session with the same id', () => {
    const { hub, relay, play } = setUp();
    play([new Gate()], { invocationId: 'e-here' });
    relay.host?.stop({ ...KEY, sessionId: 'other' }, 'e-here', 'cancel');
    expect(hub.inFlightRun(KEY, 'e-here')?.abortSignal.aborted).toBe(false);
    expect(() => relay.host?.stop(KEY, 'e-nope', 'forget')).not.toThrow();
  });
});

test('deleting a session ends its runs in all processes', async () => {
  const { hub, relay, play } = setUp();
  play([new Gate()], { invocationId: 'e-here' });
  await hub.forgetSession(KEY);
  expect(new Set(relay.asked)).toEqual(new Set(['forget e-here', 'forget the session']));
});

test('deleting a session waits five seconds for a process that does not end its run', async () => {
  const { hub, relay, platform } = setUp();
  relay.forgetSession = () => new Promise(() => undefined);
  const forgetting = hub.forgetSession(KEY);
  expect(await platform.nextTimer()).toBe(5000);
  platform.advance(5000);
  await forgetting;
});
