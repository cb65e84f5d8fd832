import { ARTIFACTS_TO_RESTORE } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { AFTER, BEFORE, contentsOf, GO, IDS, KEY, setUp } from './fixtures/rewound-artifacts.ts';

/** Returns the calls that a rewind makes when nothing fails. */
async function callsOfRewind(): Promise<string[]> {
  const { rewind, calls, view } = await setUp();
  calls.listener = () => undefined;
  await rewind();
  expect(await view()).toEqual(BEFORE);
  return calls.names;
}

const CALLS = await callsOfRewind();

const COMMIT = CALLS.indexOf('appendEvent') + 1;

const EACH_CALL = CALLS.map((name, index) => [index + 1, name] as const);

test('a rewind commits once before it changes artifacts, and marks its completion', async () => {
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

test.each(EACH_CALL)(
  'when call %i (%s) of a rewind fails, nothing has changed or the next turn completes the rewind',
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

test.each(EACH_CALL)(
  'when the process ends before call %i (%s), the next turn or rewind completes the interrupted rewind',
  async (n) => {
    for (const next of ['turn', 'rewind', 'window']) {
      const { rewind, calls, view, turn, other, agent, stored, second, isPending } = await setUp();
      calls.listener = (_, call) => {
        if (call >= n) throw new RangeError('the process is gone');
      };
      await rewind().catch(() => undefined);
      // The lease of the dead process expires, or is taken over.
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
      // No work is repeated.
      await turn({ a: 'a3', extra: 'again' });
      await turn();
      expect((await view()).contents).toMatchObject({ a: 'a3', extra: 'again' });
      expect((await stored()).state[ARTIFACTS_TO_RESTORE]).toBeUndefined();
    }
  },
);

test.each(EACH_CALL)('an abort during call %i (%s) changes nothing or completes the rewind', async (n) => {
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
  'when the lease is lost before call %i (%s), nothing has changed or the new owner completes the rewind',
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
    // The rewind checks the lease before each write, and writes nothing after its loss.
    expect(writes).toBe(0);
    await turn();
    expect(await view()).toEqual(outcome === 'rewound' ? BEFORE : AFTER);
  },
);

test('the lease is renewed while a store is slow', async () => {
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
