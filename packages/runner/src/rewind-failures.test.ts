import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  ARTIFACTS_TO_RESTORE,
  BaseAgent,
  type BaseArtifactService,
  type BaseSessionService,
  type Event,
  type InvocationContext,
  type Part,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { type FixedPlatform, fixedPlatform, userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { Runner } from './runner.ts';

const KEY = { appName: 'app', userId: 'u', sessionId: 's' };
const IDS = { userId: 'u', sessionId: 's' };
const GO = { parts: [{ text: 'go' }] };

/** Told of every call of a service, before it is made. */
type Listener = (name: string, call: number) => void | Promise<void>;

/** Calls of both services, in order. */
class Calls {
  listener: Listener | undefined;
  readonly names: string[] = [];

  /** The service, with each call told of. Storage itself is what it is. */
  of<S extends object>(service: S): S {
    return new Proxy(service, {
      get: (target, name, receiver) => {
        const member: unknown = Reflect.get(target, name, receiver);
        if (typeof member !== 'function') return member;
        if (name === 'exportSession') return member.bind(target);
        return async (...parameters: unknown[]) => {
          if (this.listener) {
            this.names.push(String(name));
            await this.listener(String(name), this.names.length);
          }
          return member.apply(target, parameters);
        };
      },
    });
  }
}

/** Does what it is told, and notes the artifacts that it sees. */
class Acting extends BaseAgent {
  act: ((context: InvocationContext) => AsyncGenerator<Event, void, void>) | undefined;
  seen: Record<string, string | undefined> = {};

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
    this.seen = await contentsOf(context.artifactService);
    if (this.act) yield* this.act(context);
  }
}

/** What readers see of each artifact. */
async function contentsOf(service: BaseArtifactService | undefined): Promise<Record<string, string | undefined>> {
  const contents: Record<string, string | undefined> = {};
  for (const filename of (await service?.listArtifactKeys(KEY)) ?? [])
    contents[filename] = (await service?.loadArtifact({ ...KEY, filename }))?.text;
  return contents;
}

const BEFORE = { contents: { a: 'a1', b: 'b1', user: 'x' }, n: 1 };
const AFTER = { contents: { a: 'a2', b: 'b2', extra: 'e', more: 'm', user: 'x' }, n: 2 };

/** A session of two turns. The second changed two artifacts and made two. */
async function setUp() {
  const reported: unknown[] = [];
  const platform: FixedPlatform = {
    ...fixedPlatform(),
    background: (work) => void work.catch((error: unknown) => reported.push(error)),
  };
  const calls = new Calls();
  const artifacts = new InMemoryArtifactService({ platform });
  const sessions = new InMemorySessionService({ platform });
  await sessions.createSession(KEY);
  const agent = new Acting({ name: 'bot' });
  const make = (sessionService: BaseSessionService, artifactService: BaseArtifactService | undefined) =>
    new Runner({ appName: 'app', agent, sessionService, artifactService, platform });
  const other = make(sessions, artifacts);
  const runner = make(calls.of(sessions), calls.of(artifacts));
  const turn = async (
    texts: Record<string, string> = {},
    stateDelta: Record<string, unknown> = {},
  ): Promise<string> => {
    agent.act = async function* act(context) {
      const artifactDelta: Record<string, number> = {};
      for (const [filename, text] of Object.entries(texts)) {
        const saved = await context.artifactService?.saveArtifact({ ...KEY, filename, artifact: { text } });
        artifactDelta[filename] = saved ?? -1;
      }
      yield context.createEvent({ author: 'bot', actions: { artifactDelta, stateDelta } });
    };
    // A lease that was not given back is taken.
    const stream = other.runAsync({ ...IDS, newMessage: GO, runConfig: { onBusy: 'interrupt' } });
    for await (const _ of stream);
    return stream.invocationId;
  };
  await turn({ a: 'a1', b: 'b1', user: 'x' }, { n: 1 });
  const second = await turn({ a: 'a2', b: 'b2', extra: 'e', more: 'm' }, { n: 2 });
  const stored = async () => (await sessions.getSession(KEY)) ?? expect.unreachable();
  return {
    runner,
    other,
    make,
    calls,
    platform,
    artifacts,
    sessions,
    agent,
    reported,
    turn,
    second,
    stored,
    rewind: (params: object = {}) => runner.rewindAsync({ ...IDS, rewindBeforeInvocationId: second, ...params }),
    /** What readers see. */
    view: async () => ({ contents: await contentsOf(artifacts), n: (await stored()).state['n'] }),
    isPending: async () => Object.hasOwn((await stored()).state, ARTIFACTS_TO_RESTORE),
  };
}

/** The calls that a rewind makes when nothing fails. */
async function callsOfRewind(): Promise<string[]> {
  const { rewind, calls, view } = await setUp();
  calls.listener = () => undefined;
  await rewind();
  expect(await view()).toEqual(BEFORE);
  return calls.names;
}

const CALLS = await callsOfRewind();
const COMMIT = CALLS.indexOf('appendEvent') + 1;

test('a rewind commits once, before any artifact is touched, and says at its end that all is done', async () => {
  expect(CALLS.filter((name) => name === 'appendEvent')).toHaveLength(2);
  for (const name of ['saveArtifact', 'deleteArtifact']) expect(CALLS.indexOf(name)).toBeGreaterThan(COMMIT - 1);
  const { rewind, stored, isPending, artifacts } = await setUp();
  const event = await rewind();
  expect(event.actions.artifactDelta).toEqual({ a: 0, b: 0 });
  const last = (await stored()).events.at(-1);
  expect(last).toMatchObject({ invocationId: event.invocationId, actions: { artifactDelta: { a: 2, b: 2 } } });
  expect(await isPending()).toBe(false);
  expect(await artifacts.listVersions({ ...KEY, filename: 'a' })).toEqual([0, 1, 2]);
});

const EACH_CALL = CALLS.map((name, index) => [index + 1, name] as const);

test.each(EACH_CALL)(
  'when call %i (%s) of a rewind fails, nothing is changed, or the next turn has all right',
  async (n) => {
    const { rewind, calls, view, turn, agent, stored } = await setUp();
    const events = (await stored()).events.length;
    calls.listener = (_, call) => {
      if (call === n) throw new RangeError('disk full');
    };
    const outcome = await rewind().then(
      () => 'rewound',
      () => 'refused',
    );
    expect(outcome).toBe(n <= COMMIT ? 'refused' : 'rewound');
    if (outcome === 'refused') {
      expect(await view()).toEqual(AFTER);
      expect((await stored()).events).toHaveLength(events);
      return;
    }
    await turn();
    expect(agent.seen).toEqual(BEFORE.contents);
    expect(await view()).toEqual(BEFORE);
  },
);

test.each(EACH_CALL)('when the process ends before call %i (%s), the next turn or rewind has all right', async (n) => {
  for (const next of ['turn', 'rewind', 'window']) {
    const { rewind, calls, view, turn, other, agent, stored, second, isPending } = await setUp();
    calls.listener = (_, call) => {
      if (call >= n) throw new RangeError('the process is gone');
    };
    await rewind().catch(() => undefined);
    // Its lease runs out, or is taken.
    if (next === 'turn') {
      const stream = other.runAsync({ ...IDS, newMessage: GO, runConfig: { onBusy: 'interrupt' } });
      agent.act = undefined;
      for await (const _ of stream);
      expect(agent.seen).toEqual(n <= COMMIT ? AFTER.contents : BEFORE.contents);
    } else if (next === 'window') {
      agent.act = undefined;
      const runConfig = { onBusy: 'interrupt', getSessionConfig: { numRecentEvents: 0 } } as const;
      await other.run({ ...IDS, newMessage: GO, runConfig });
      expect(agent.seen).toEqual(n <= COMMIT ? AFTER.contents : BEFORE.contents);
    } else {
      await other.rewindAsync({ ...IDS, rewindBeforeInvocationId: second, onBusy: 'interrupt' });
    }
    const isRewound = n > COMMIT || next === 'rewind';
    expect(await view()).toEqual(isRewound ? BEFORE : AFTER);
    expect(await isPending()).toBe(false);
    // Nothing of it is done again.
    await turn({ a: 'a3', extra: 'again' });
    await turn();
    expect((await view()).contents).toMatchObject({ a: 'a3', extra: 'again' });
    expect((await stored()).state[ARTIFACTS_TO_RESTORE]).toBeUndefined();
  }
});

test.each(EACH_CALL)('an abort during call %i (%s) leaves nothing changed, or the rewind complete', async (n) => {
  const { rewind, calls, view, stored } = await setUp();
  const { events } = await stored();
  const abort = new AbortController();
  calls.listener = (_, call) => {
    if (call === n) abort.abort();
  };
  const outcome = await rewind({ abortSignal: abort.signal }).then(
    () => 'rewound',
    (error: { code: string }) => error.code,
  );
  calls.listener = undefined;
  expect(outcome).toBe(n < COMMIT ? 'RUN_ABORTED' : 'rewound');
  expect(await view()).toEqual(outcome === 'rewound' ? BEFORE : AFTER);
  if (outcome !== 'rewound') expect((await stored()).events).toEqual(events);
  await expect(rewind({ onBusy: 'reject' })).resolves.toBeDefined();
});

test.each(EACH_CALL)(
  'a lease that is lost before call %i (%s) leaves nothing changed, or the rewind to its new owner',
  async (n, name) => {
    const { rewind, calls, view, turn, other, agent, artifacts } = await setUp();
    let writes = 0;
    let owners: unknown;
    calls.listener = async (called, call) => {
      if (call === n && name !== 'acquireLease') {
        agent.act = undefined;
        await other.run({ ...IDS, newMessage: GO, runConfig: { onBusy: 'interrupt' } });
        owners = await contentsOf(artifacts);
      }
      if (call > n && ['saveArtifact', 'deleteArtifact'].includes(called)) writes++;
    };
    const outcome = await rewind().then(
      () => 'rewound',
      (error: { code: string }) => error.code,
    );
    calls.listener = undefined;
    if (name === 'acquireLease' || name === 'releaseLease') return expect(outcome).toBe('rewound');
    expect(outcome).toBe(n <= COMMIT ? 'STALE_WRITER' : 'rewound');
    expect(owners).toEqual(n <= COMMIT ? AFTER.contents : BEFORE.contents);
    // One that writes to the store has looked before; it writes nothing more.
    expect(writes).toBe(0);
    await turn();
    expect(await view()).toEqual(outcome === 'rewound' ? BEFORE : AFTER);
  },
);

test('the lease is kept while a store is slow', async () => {
  const { rewind, calls, platform, other, view } = await setUp();
  let refused = 0;
  calls.listener = async (name) => {
    if (!['getArtifactVersion', 'saveArtifact', 'deleteArtifact', 'loadArtifact'].includes(name)) return;
    for (let second = 0; second < 60; second++) {
      platform.advance(1000);
      await Promise.resolve();
    }
    await other.run({ ...IDS, newMessage: GO, runConfig: { onBusy: 'reject' } }).catch(() => refused++);
  };
  await rewind();
  calls.listener = undefined;
  expect(refused).toBeGreaterThan(4);
  expect(await view()).toEqual(BEFORE);
});

test('two rewinds at once come one after the other, and to the same', async () => {
  const { rewind, view, stored, isPending } = await setUp();
  const [first, again] = await Promise.all([rewind(), rewind()]);
  expect(first.id).not.toBe(again.id);
  const kinds = (await stored()).events.map(({ actions }) => actions.rewindBeforeInvocationId).filter(Boolean);
  expect(kinds).toHaveLength(2);
  expect(await view()).toEqual(BEFORE);
  expect(await isPending()).toBe(false);
});

test('a turn whose agent would see wrong artifacts is refused until they are right, and writes nothing', async () => {
  const { rewind, calls, stored, make, artifacts, sessions, agent, other, view, runner } = await setUp();
  agent.act = undefined;
  calls.listener = (name) => {
    if (name === 'saveArtifact') throw new RangeError('disk full');
  };
  await rewind();
  const { length } = (await stored()).events;
  await expect(runner.run({ ...IDS, newMessage: GO })).rejects.toMatchObject({ code: 'AGENT', message: 'disk full' });
  const bare = make(sessions, undefined);
  await expect(bare.run({ ...IDS, newMessage: GO })).rejects.toMatchObject({ code: 'CONFIGURATION' });
  expect((await stored()).events).toHaveLength(length);
  await other.run({ ...IDS, newMessage: GO });
  expect(await view()).toEqual(BEFORE);
  expect(await artifacts.listVersions({ ...KEY, filename: 'a' })).toEqual([0, 1, 2]);
});

test('what went wrong after the commit is reported', async () => {
  const { rewind, calls, reported } = await setUp();
  calls.listener = (name) => {
    if (name === 'deleteArtifact' || name === 'releaseLease') throw new RangeError(`no ${name}`);
  };
  await rewind();
  await Promise.resolve();
  expect(reported.map(String)).toEqual(['RangeError: no deleteArtifact', 'RangeError: no releaseLease']);
});

test('a rewind to before another that was not finished takes over what that left', async () => {
  const { rewind, calls, view, turn, other, second, isPending } = await setUp();
  const third = await turn({ c: 'c1' });
  calls.listener = (name) => {
    if (name === 'saveArtifact' || name === 'deleteArtifact') throw new RangeError('disk full');
  };
  await rewind({ rewindBeforeInvocationId: third });
  expect(await isPending()).toBe(true);
  await other.rewindAsync({ ...IDS, rewindBeforeInvocationId: second });
  expect(await view()).toEqual(BEFORE);
  expect(await isPending()).toBe(false);
});

test('a rewind to after one that was not finished finishes that', async () => {
  const { rewind, calls, view, other, sessions, stored, isPending } = await setUp();
  calls.listener = (name) => {
    if (name === 'saveArtifact') throw new RangeError('disk full');
  };
  await rewind();
  const event = userEvent('from elsewhere', { id: 'x', invocationId: 'elsewhere' });
  await sessions.appendEvent({ session: await stored(), event });
  await other.rewindAsync({ ...IDS, rewindBeforeInvocationId: 'elsewhere' });
  expect(await view()).toEqual(BEFORE);
  expect(await isPending()).toBe(false);
});

test('an artifact that a rewind deleted and that was made anew can be rewound again', async () => {
  const { rewind, view, turn } = await setUp();
  await rewind();
  const third = await turn();
  const fourth = await turn({ extra: 'new' });
  await rewind({ rewindBeforeInvocationId: fourth });
  expect(await view()).toEqual(BEFORE);
  await rewind({ rewindBeforeInvocationId: third });
  expect(await view()).toEqual(BEFORE);
});

test('metadata of an artifact comes back with it', async () => {
  const { other, agent, artifacts, turn } = await setUp();
  agent.act = async function* act(context) {
    const artifact: Part = { text: 'kept' };
    await artifacts.saveArtifact({ ...KEY, filename: 'kept', artifact, customMetadata: { by: 'me' } });
    yield context.createEvent({ author: 'bot', actions: { artifactDelta: { kept: 0 } } });
  };
  await other.run({ ...IDS, newMessage: GO });
  const last = await turn({ kept: 'lost' });
  await other.rewindAsync({ ...IDS, rewindBeforeInvocationId: last });
  const latest = await artifacts.getArtifactVersion({ ...KEY, filename: 'kept' });
  expect(latest).toMatchObject({ version: 2, customMetadata: { by: 'me' } });
});
