import type { Part } from '@eventloom/core';
import { userEvent } from '@eventloom/testing';
import { expect, test } from 'vitest';
import { BEFORE, GO, IDS, KEY, setUp } from './fixtures/rewound-artifacts.ts';

test('two concurrent rewinds run one after the other with the same result', async () => {
  const { rewind, view, stored, isPending } = await setUp();
  const [first, again] = await Promise.all([rewind(), rewind()]);
  expect(first.id).not.toBe(again.id);
  const kinds = (await stored()).events.map(({ actions }) => actions.rewindBeforeInvocationId).filter(Boolean);
  expect(kinds).toHaveLength(2);
  expect(await view()).toEqual(BEFORE);
  expect(await isPending()).toBe(false);
});

test('a turn fails with a stored error until artifacts of an unfinished rewind are restored', async () => {
  const { rewind, calls, stored, make, artifacts, sessions, agent, other, view, runner } = await setUp();
  agent.act = undefined;
  calls.listener = (name) => {
    if (name === 'saveArtifact') throw new RangeError('disk full');
  };
  await rewind();
  await expect(runner.run({ ...IDS, newMessage: GO })).rejects.toMatchObject({
    code: 'AGENT',
    message: 'agent "bot" failed: disk full',
  });
  const bare = make(sessions, undefined);
  await expect(bare.run({ ...IDS, newMessage: GO })).rejects.toMatchObject({ code: 'CONFIGURATION' });
  expect((await stored()).events.slice(-4).map(({ author, errorCode }) => errorCode ?? author)).toEqual([
    'user',
    'AGENT',
    'user',
    'CONFIGURATION',
  ]);
  await other.run({ ...IDS, newMessage: GO });
  expect(await view()).toEqual(BEFORE);
  expect(await artifacts.listVersions({ ...KEY, filename: 'a' })).toEqual([0, 1, 2]);
});

test('errors after the commit of a rewind are reported', async () => {
  const { rewind, calls, reported } = await setUp();
  calls.listener = (name) => {
    if (name === 'deleteArtifact' || name === 'releaseLease') throw new RangeError(`no ${name}`);
  };
  await rewind();
  await Promise.resolve();
  expect(reported.map(String)).toEqual(['RangeError: no deleteArtifact', 'RangeError: no releaseLease']);
});

test('a rewind to before an unfinished one takes over its work', async () => {
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

test('a rewind to after an unfinished one completes it', async () => {
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

test('an artifact that a rewind deleted and that was saved again can be rewound again', async () => {
  const { rewind, view, turn } = await setUp();
  await rewind();
  const third = await turn();
  const fourth = await turn({ extra: 'new' });
  await rewind({ rewindBeforeInvocationId: fourth });
  expect(await view()).toEqual(BEFORE);
  await rewind({ rewindBeforeInvocationId: third });
  expect(await view()).toEqual(BEFORE);
});

test('a rewind restores the metadata of an artifact', async () => {
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
