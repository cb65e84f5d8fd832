import { systemPlatform } from '@eventloom/core';
import { ManualPlatform } from '@eventloom/core/conformance';
import { expect, test } from 'vitest';
import { ServerBusyError, SlowReaderError, UserLimitError } from '../errors.ts';
import { WorkQueue } from './in-turns.ts';
import { type AnswerText, LargeAnswers } from './large-answers.ts';

const MEBI = 1024 * 1024;
const text = (mebis: number): AnswerText => ({ parts: Array(mebis).fill('x'.repeat(MEBI)) });

function setUp(limits: { readonly maxAnswerChars?: number; readonly maxAnswerCharsPerUser?: number } = {}) {
  const platform = new ManualPlatform();
  const reported: unknown[] = [];
  const answers = new LargeAnswers({
    limits: { maxAnswerChars: 8 * MEBI, maxAnswerCharsPerUser: 4 * MEBI, heartbeatMs: 15_000, ...limits },
    platform,
    queue: new WorkQueue(systemPlatform),
    report: (error) => reported.push(error),
  });
  return { answers, platform, reported };
}

test('a small answer is in one piece, and does not count', async () => {
  const { answers } = setUp({ maxAnswerCharsPerUser: 1 });
  for (let each = 0; each < 3; each++) {
    const response = await answers.answer('ann', () => ({ parts: ['["a",', '"b"]'], headers: { 'x-more': '1' } }));
    expect(response.headers.get('x-more')).toBe('1');
    expect(await response.json()).toEqual(['a', 'b']);
  }
});

test('a user with too many unread characters gets no further answer, until they are read or the client leaves', async () => {
  const { answers } = setUp();
  const first = await answers.answer('ann', () => text(2));
  const second = await answers.answer('ann', () => text(2));
  const reads: string[] = [];
  const refused = answers.answer('ann', () => {
    reads.push('ann');
    return text(1);
  });
  await expect(refused).rejects.toThrow(UserLimitError);
  await expect(refused).rejects.toThrow('may have 4194304 to read (limits.maxAnswerCharsPerUser of this server)');
  expect(reads).toEqual([]);
  expect((await (await answers.answer('bob', () => text(1))).text()).length).toBe(MEBI);
  expect((await first.text()).length).toBe(2 * MEBI);
  const third = await answers.answer('ann', () => text(3));
  await expect(answers.answer('ann', () => text(1))).rejects.toThrow(UserLimitError);
  await second.body?.cancel();
  await third.body?.cancel();
  expect((await (await answers.answer('ann', () => text(1))).text()).length).toBe(MEBI);
});

test('the server has a maximum of unread characters, which many users reach together', async () => {
  const { answers } = setUp();
  const unread = await Promise.all(['a', 'b', 'c'].map((user) => answers.answer(user, () => text(3))));
  await expect(answers.answer('d', () => text(1))).rejects.toThrow(ServerBusyError);
  await unread[0]?.body?.cancel();
  expect((await (await answers.answer('d', () => text(1))).text()).length).toBe(MEBI);
});

test('the answer to a change that was made is not refused', async () => {
  const { answers } = setUp();
  await answers.answer('ann', () => text(4));
  const response = await answers.answer('ann', () => text(1), false);
  expect((await response.text()).length).toBe(MEBI);
});

test('answers of one user are read one after the other', async () => {
  const { answers } = setUp();
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const read = (name: string) => async () => {
    begun.push(name);
    await gate.promise;
    return { parts: [name] };
  };
  const all = ['ann', 'ann', 'bob'].map((user, index) => answers.answer(user, read(`${user} ${index}`)));
  await Promise.resolve();
  await expect.poll(() => begun).toEqual(['ann 0', 'bob 2']);
  gate.resolve();
  expect(await Promise.all(all.map(async (each) => (await each).text()))).toEqual(['ann 0', 'ann 1', 'bob 2']);
});

test('parts beyond 8 Mi characters, and those read from the storage, are made only as the client reads', async () => {
  const { answers } = setUp({ maxAnswerCharsPerUser: 100 * MEBI });
  let made = 0;
  function* parts(): Generator<string> {
    for (; made < 20; made++) yield 'x'.repeat(MEBI);
  }
  async function* rest(): AsyncGenerator<string, void, undefined> {
    made++;
    yield 'end';
  }
  const response = await answers.answer('ann', () => ({ parts: parts(), rest: rest() }));
  expect(made).toBeLessThan(10);
  expect((await response.text()).length).toBe(20 * MEBI + 3);
  expect(made).toBe(21);
});

test('a client that reads nothing for two heartbeats is disconnected, and its characters no longer count', async () => {
  const { answers, platform, reported } = setUp();
  const stalled = await answers.answer('ann', () => text(4));
  const reader = stalled.body?.getReader();
  await reader?.read();
  platform.advance(29_999);
  expect(reported).toEqual([]);
  await expect(answers.answer('ann', () => text(1))).rejects.toThrow(UserLimitError);
  platform.advance(1);
  expect(reported).toEqual([expect.any(SlowReaderError)]);
  await expect(reader?.read()).rejects.toThrow('the client read nothing of an answer for two heartbeats');
  const next = await answers.answer('ann', () => text(1));
  expect((await next.text()).length).toBe(MEBI);
});

test('a failure after the response has begun is reported, and cuts the response with an error without a stack', async () => {
  const { answers, reported } = setUp();
  async function* rest(): AsyncGenerator<string, void, undefined> {
    yield 'x';
    throw new RangeError('the disk is gone');
  }
  const response = await answers.answer('ann', () => ({ parts: [], rest: rest() }));
  const failure: unknown = await response.text().catch((error: unknown) => error);
  expect(reported).toEqual([new RangeError('the disk is gone')]);
  expect((failure as Error).stack).not.toContain('.ts');
  const next = await answers.answer('ann', () => text(1));
  expect((await next.text()).length).toBe(MEBI);
});
