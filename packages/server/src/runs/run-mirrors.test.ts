import { type EventloomError, RunAbortedError, type SessionKey } from '@eventloom/core';
import { type FixedPlatform, fixedPlatform } from '@eventloom/testing';
import { describe, expect, test } from 'vitest';
import { RunHostLostError, RunNotFoundError, ServerBusyError } from '../errors.ts';
import { DEFAULT_LIMITS, type ServerLimits } from '../server-limits.ts';
import type { RunEvents } from './hosted-run.ts';
import { RunRegistry } from './run-registry.ts';
import type { RelayHost, RemoteRun, RemoteRunFollower, RunPublication, RunRelay } from './run-relay.ts';

const KEY = { appName: 'app', userId: 'ann', sessionId: 's' };
const ID = 'e-there';

/** What the other processes are, as the test says it: one run, which the test plays. */
class ScriptedRelay implements RunRelay {
  remote: RemoteRun | undefined = { firstSeq: 1, lastSeq: 0, end: undefined };
  readonly followers = new Set<RemoteRunFollower>();
  readonly asked: string[] = [];
  host: RelayHost | undefined;

  attach(host: RelayHost): void {
    this.host = host;
  }

  publish({ invocationId }: { readonly invocationId: string }): RunPublication {
    const note = (what: string) => (): void => void this.asked.push(`${what} ${invocationId}`);
    return { announced: Promise.resolve(), notify: () => undefined, forget: note('forget') };
  }

  async find(): Promise<RemoteRun | undefined> {
    return this.remote;
  }

  follow(_key: SessionKey, _id: string, afterSeq: number, follower: RemoteRunFollower): () => void {
    this.asked.push(`follow after ${afterSeq}`);
    this.followers.add(follower);
    return () => void this.followers.delete(follower);
  }

  async cancel(): Promise<void> {
    this.asked.push('cancel');
  }

  async forgetSession(): Promise<void> {
    this.asked.push('forget the session');
  }

  /** Tells of events. */
  append(firstSeq: number, ...texts: string[]): void {
    for (const follower of this.followers) follower.appended(firstSeq, texts);
  }

  end(failureText?: string): void {
    for (const follower of this.followers) follower.ended({ kind: 'ended', failureText });
  }

  lose(error: EventloomError): void {
    for (const follower of this.followers) follower.ended({ kind: 'lost', error });
  }
}

interface Setup {
  readonly registry: RunRegistry;
  readonly relay: ScriptedRelay;
  readonly platform: FixedPlatform;
  /** Reads the run of the other process from behind an event. */
  readonly read: (afterSeq?: number) => Promise<ReadableStream<Uint8Array>>;
}

function setUp(limits: Partial<ServerLimits> = {}): Setup {
  const [platform, relay] = [fixedPlatform(), new ScriptedRelay()];
  const registry = new RunRegistry(platform, { ...DEFAULT_LIMITS, ...limits }, () => undefined, relay);
  const read = (afterSeq = 0): Promise<ReadableStream<Uint8Array>> =>
    registry.use(KEY, ID, afterSeq, (run) => registry.read(run, afterSeq).stream);
  return { registry, relay, platform, read };
}

const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

/** A run of this process that never ends by itself. */
function endless(signal: AbortSignal): RunEvents {
  const ended = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => ended.reject(new RunAbortedError('aborted')));
  return { invocationId: 'e-here', next: () => ended.promise, return: () => ended.promise };
}

describe('a mirrored run', () => {
  test('is read as its host tells it, failure and all', async () => {
    const { relay, read } = setUp();
    const text = textOf(await read());
    relay.append(1, '"a"', '"b"');
    relay.append(3, '"c"');
    relay.end('{"error":"no","code":"AGENT"}');
    expect(await text).toBe(
      'id: 1\ndata: "a"\n\nid: 2\ndata: "b"\n\nid: 3\ndata: "c"\n\nid: 4\ndata: {"error":"no","code":"AGENT"}\n\n',
    );
  });

  test('is followed once for several readers, from its oldest event, and left with the last of them', async () => {
    const { relay, read } = setUp();
    relay.remote = { firstSeq: 5, lastSeq: 9, end: undefined };
    const [one, other] = await Promise.all([read(4), read(8)]);
    expect([relay.asked, relay.followers.size]).toEqual([['follow after 4'], 1]);
    await one.cancel();
    expect(relay.followers.size).toBe(1);
    await other.cancel();
    expect(relay.followers.size).toBe(0);
  });

  test('ends with an error that has no number when it is lost, and the next reader is answered with it', async () => {
    const { relay, read } = setUp();
    const text = textOf(await read());
    relay.append(1, '"a"');
    relay.lose(new RunHostLostError('gone'));
    expect(await text).toBe('id: 1\ndata: "a"\n\ndata: {"error":"gone","code":"RUN_HOST_LOST"}\n\n');
  });

  test('tells of its loss to who is ahead of what is known of it', async () => {
    const { relay, read } = setUp();
    const text = textOf(await read(7));
    relay.append(1, '"a"');
    relay.lose(new RunHostLostError('gone'));
    expect(await text).toBe('data: {"error":"gone","code":"RUN_HOST_LOST"}\n\n');
  });

  test('lets readers go who would miss events that its host does not keep any more', async () => {
    const { relay, read } = setUp();
    const text = textOf(await read());
    relay.append(1, '"a"');
    relay.append(5, '"e"');
    relay.end();
    expect(await text).toMatch(/"code":"SLOW_READER"\}\n\n$/);
  });

  test('that ended is not asked for its events when there are none behind what is known', async () => {
    const { registry, relay } = setUp();
    relay.remote = { firstSeq: 1, lastSeq: 3, end: { kind: 'ended', failureText: undefined } };
    const run = await registry.use(KEY, ID, 3, (found) => found);
    expect([run.isEnded, run.finalSeq, relay.asked]).toEqual([true, 3, []]);
  });

  test('is not found when no process has it', async () => {
    const { registry, relay, read } = setUp();
    relay.remote = undefined;
    await expect(read()).rejects.toThrow(RunNotFoundError);
    await expect(registry.cancel(KEY, ID)).rejects.toThrow(RunNotFoundError);
  });

  test('counts among what is kept while it is read', async () => {
    const { registry, relay, read } = setUp({ maxKeptChars: 100 });
    const stream = await read();
    relay.append(1, `"${'x'.repeat(200)}"`);
    expect(() => registry.start(KEY, endless)).toThrow(ServerBusyError);
    await stream.cancel();
    expect(registry.start(KEY, endless).isEnded).toBe(false);
  });

  test('keeps of its events what a run may keep', async () => {
    const { registry, relay, read } = setUp({ maxRunChars: 10 });
    await read();
    relay.append(1, '"aaaa"', '"bbbb"', '"cccc"');
    const kept = await registry.use(KEY, ID, 3, ({ buffer }) => [buffer.firstSeq, buffer.lastSeq]);
    expect(kept).toEqual([2, 3]);
  });

  test('sends its readers away when the server drains', async () => {
    const { registry, relay, read } = setUp();
    const text = textOf(await read());
    relay.append(1, '"a"');
    await registry.drain(0);
    expect(await text).toMatch(/^id: 1\ndata: "a"\n\n(retry: 2000\n\n)?data: \{.*"code":"RUN_GOES_ON"\}\n\n$/s);
    expect(relay.followers.size).toBe(0);
  });
});

describe('cancelling a run of another process', () => {
  test('asks its host, and waits for its end', async () => {
    const { registry, relay, platform } = setUp();
    const cancelled = registry.cancel(KEY, ID);
    await platform.nextTimer();
    expect(relay.asked).toEqual(['cancel', 'follow after 0']);
    relay.end();
    await cancelled;
    expect([relay.followers.size, platform.pendingTimers]).toEqual([0, 0]);
  });

  test('waits so long and no longer', async () => {
    const { registry, relay, platform } = setUp({ answerAfterMs: 700 });
    const cancelled = registry.cancel(KEY, ID);
    expect(await platform.nextTimer()).toBe(700);
    platform.advance(700);
    await cancelled;
    expect(relay.followers.size).toBe(0);
  });

  test('leaves one alone that has ended', async () => {
    const { registry, relay } = setUp();
    relay.remote = { firstSeq: 1, lastSeq: 3, end: { kind: 'ended', failureText: undefined } };
    await registry.cancel(KEY, ID);
    expect(relay.asked).toEqual([]);
  });
});

describe('what other processes ask for', () => {
  test('ends a run of this process', async () => {
    const { registry, relay } = setUp();
    const run = registry.start(KEY, endless);
    registry.read(run, 0);
    relay.host?.stop('e-here', 'cancel');
    await run.ended;
    expect(run.failure?.message).toBe('the run was cancelled');
    expect(registry.find(KEY, 'e-here')).toBe(run);
  });

  test('forgets it with its session', async () => {
    const { registry, relay, platform } = setUp();
    const run = registry.start(KEY, endless);
    relay.host?.stop('e-here', 'forget');
    await platform.drain();
    expect([run.isEnded, run.failure?.message]).toEqual([true, 'the session was deleted']);
    expect(() => registry.find(KEY, 'e-here')).toThrow(RunNotFoundError);
  });

  test('is no error for a run that is not here', () => {
    const { relay } = setUp();
    expect(() => relay.host?.stop('e-nope', 'forget')).not.toThrow();
  });
});

test('deleting a session here asks for the end of its runs everywhere', async () => {
  const { registry, relay } = setUp();
  registry.start(KEY, endless);
  await registry.forgetSession(KEY);
  expect(new Set(relay.asked)).toEqual(new Set(['forget e-here', 'forget the session']));
});
