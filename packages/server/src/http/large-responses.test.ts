import { systemPlatform } from '@eventloom/core';
import { ManualPlatform } from '@eventloom/core/conformance';
import { WorkQueue } from '@eventloom/core/internal';
import { expect, test } from 'vitest';
import { ServerBusyError, UnreadResponsesError, UserLimitError } from '../errors.ts';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import { errorResponse } from './error-response.ts';
import { type ResponseText, LargeResponses } from './large-responses.ts';
import { UserQuotas } from './user-quotas.ts';

const MEBI = 1024 * 1024;
const text = (mebis: number): ResponseText => ({ parts: Array(mebis).fill('x'.repeat(MEBI)) });

function setUp(limits: { readonly maxResponseChars?: number; readonly maxResponseCharsPerUser?: number } = {}) {
  const platform = new ManualPlatform();
  const reported: unknown[] = [];
  const quotas = new UserQuotas({
    ...DEFAULT_LIMITS,
    maxResponseChars: 8 * MEBI,
    maxResponseCharsPerUser: 4 * MEBI,
    ...limits,
  });
  const responses = new LargeResponses({
    quotas,
    heartbeatMs: 15_000,
    platform,
    queue: new WorkQueue(systemPlatform),
    report: (error) => reported.push(error),
  });
  return { responses, platform, quotas, reported };
}

test('a small answer is in one piece, and does not count', async () => {
  const { responses } = setUp({ maxResponseCharsPerUser: 1 });
  for (let each = 0; each < 3; each++) {
    const response = await responses.respond('ann', () => ({ parts: ['["a",', '"b"]'], headers: { 'x-more': '1' } }));
    expect(response.headers.get('x-more')).toBe('1');
    expect(await response.json()).toEqual(['a', 'b']);
  }
});

test('a user with too many unread characters gets no further large answer, until they are read or the client leaves', async () => {
  const { responses } = setUp();
  const first = await responses.respond('ann', () => text(2));
  const second = await responses.respond('ann', () => text(2));
  const refused = responses.respond('ann', () => text(1));
  await expect(refused).rejects.toThrow(UserLimitError);
  await expect(refused).rejects.toThrow('(limits.maxResponseCharsPerUser of this server), and has 4194304');
  expect(await (await responses.respond('ann', () => ({ parts: ['"small"'] }))).json()).toBe('small');
  expect((await (await responses.respond('bob', () => text(1))).text()).length).toBe(MEBI);
  expect((await first.text()).length).toBe(2 * MEBI);
  const third = await responses.respond('ann', () => text(2));
  await expect(responses.respond('ann', () => text(1))).rejects.toThrow(UserLimitError);
  await second.body?.cancel();
  await third.body?.cancel();
  expect((await (await responses.respond('ann', () => text(1))).text()).length).toBe(MEBI);
});

test('an answer larger than the limit of its user is given if the user has no other one', async () => {
  const { responses } = setUp();
  const large = await responses.respond('ann', () => text(7));
  await expect(responses.respond('ann', () => text(1))).rejects.toThrow(UserLimitError);
  expect((await large.text()).length).toBe(7 * MEBI);
});

test('users who have much to read leave room for others', async () => {
  const { responses } = setUp();
  const unread = [await responses.respond('a', () => text(4)), await responses.respond('b', () => text(2))];
  await expect(responses.respond('b', () => text(1))).rejects.toThrow('for other users, because the user has');
  expect((await (await responses.respond('c', () => text(1))).text()).length).toBe(MEBI);
  await expect(responses.respond('d', () => text(3))).rejects.toThrow(ServerBusyError);
  await unread[0]?.body?.cancel();
  expect((await (await responses.respond('d', () => text(3))).text()).length).toBe(3 * MEBI);
});

test('a change is refused before it is made if the user has too much to read', async () => {
  const { responses } = setUp();
  const made: string[] = [];
  const change = (name: string) => async () => {
    made.push(name);
    return () => text(1);
  };
  const unread = await responses.respond('ann', () => text(4));
  await expect(responses.respondToChange('ann', change('refused'))).rejects.toThrow(UserLimitError);
  expect(made).toEqual([]);
  await unread.body?.cancel();
  expect((await (await responses.respondToChange('ann', change('made'))).text()).length).toBe(MEBI);
  expect(made).toEqual(['made']);
});

async function changeDuringReads(responses: LargeResponses) {
  const gate = Promise.withResolvers<void>();
  const reads: string[] = [];
  const changing = responses.respondToChange('ann', async () => {
    await gate.promise;
    return () => {
      reads.push('read');
      return text(2);
    };
  });
  const unread = await responses.respond('ann', () => text(4));
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reads).toEqual([]);
  return { changing, unread };
}

test('the answer to a change that was made is read once there is room for it', async () => {
  const { responses } = setUp();
  const { changing, unread } = await changeDuringReads(responses);
  await unread.body?.cancel();
  expect((await (await changing).text()).length).toBe(2 * MEBI);
});

test('a change whose answer is as large as the limit is answered', async () => {
  const { responses } = setUp();
  const large = await responses.respondToChange('ann', async () => () => text(9));
  expect((await large.text()).length).toBe(9 * MEBI);
});

test('the answer to a change fails if there is no room for it for four heartbeats', async () => {
  const { responses, platform } = setUp();
  const { changing, unread } = await changeDuringReads(responses);
  const failure = changing.catch((error: unknown) => error);
  const reader = unread.body?.getReader();
  for (let each = 0; each < 3; each++) {
    // A client that reads a little is not disconnected.
    await reader?.read();
    platform.advance(20_000);
  }
  expect(await failure).toEqual(expect.any(UnreadResponsesError));
  // A client that sent the change again would make it twice.
  const { status, headers } = errorResponse(await failure);
  expect([status, headers.has('retry-after')]).toEqual([409, false]);
  await reader?.cancel();
});

test('a read that hangs holds further reads of its user for five seconds', async () => {
  const { responses, platform } = setUp();
  let isReading = false;
  void responses.respond('ann', () => {
    isReading = true;
    return new Promise<ResponseText>(() => undefined);
  });
  let isAnswered = false;
  const next = responses.respond('ann', () => ({ parts: ['"next"'] }));
  void next.then(() => (isAnswered = true));
  await expect.poll(() => isReading).toBe(true);
  platform.advance(4999);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isAnswered).toBe(false);
  platform.advance(1);
  expect(await (await next).json()).toBe('next');
});

test('responses of one user are read one after the other', async () => {
  const { responses } = setUp();
  const gate = Promise.withResolvers<void>();
  const begun: string[] = [];
  const read = (name: string) => async () => {
    begun.push(name);
    await gate.promise;
    return { parts: [name] };
  };
  const all = ['ann', 'ann', 'bob'].map((user, index) => responses.respond(user, read(`${user} ${index}`)));
  await Promise.resolve();
  await expect.poll(() => begun).toEqual(['ann 0', 'bob 2']);
  gate.resolve();
  expect(await Promise.all(all.map(async (each) => (await each).text()))).toEqual(['ann 0', 'ann 1', 'bob 2']);
});

test('parts beyond 8 Mi characters, and those read from the storage, are made only as the client reads', async () => {
  const { responses } = setUp({ maxResponseCharsPerUser: 100 * MEBI });
  let made = 0;
  function* parts(): Generator<string> {
    for (; made < 20; made++) yield 'x'.repeat(MEBI);
  }
  async function* rest(): AsyncGenerator<string, void, undefined> {
    made++;
    yield 'end';
  }
  const response = await responses.respond('ann', () => ({ parts: parts(), rest: rest() }));
  expect(made).toBeLessThan(10);
  expect((await response.text()).length).toBe(20 * MEBI + 3);
  expect(made).toBe(21);
});

test('a client that reads nothing for two heartbeats is disconnected, and its characters no longer count', async () => {
  const { responses, platform, reported } = setUp();
  const stalled = await responses.respond('ann', () => text(4));
  const reader = stalled.body?.getReader();
  await reader?.read();
  platform.advance(29_999);
  expect(reported).toEqual([]);
  await expect(responses.respond('ann', () => text(1))).rejects.toThrow(UserLimitError);
  platform.advance(1);
  expect(reported).toEqual([expect.any(UnreadResponsesError)]);
  await expect(reader?.read()).rejects.toThrow('the client read nothing of a response for two heartbeats');
  const next = await responses.respond('ann', () => text(1));
  expect((await next.text()).length).toBe(MEBI);
});

test('a failure after the response has begun is reported, and cuts the response with an error without a stack', async () => {
  const { responses, reported } = setUp();
  async function* rest(): AsyncGenerator<string, void, undefined> {
    yield 'x';
    throw new RangeError('the disk is gone');
  }
  const response = await responses.respond('ann', () => ({ parts: [], rest: rest() }));
  const failure: unknown = await response.text().catch((error: unknown) => error);
  expect(reported).toEqual([new RangeError('the disk is gone')]);
  expect((failure as Error).stack).not.toContain('.ts');
  const next = await responses.respond('ann', () => text(1));
  expect((await next.text()).length).toBe(MEBI);
});

test('all unread responses together hold at most the characters of the limits, whatever many users ask for', async () => {
  const { responses, quotas } = setUp();
  const users = Array.from({ length: 12 }, (_, index) => `user ${index}`);
  const held = new Map<string, Response[]>(users.map((user) => [user, []]));
  for (const mebis of [1, 3, 0.5, 2])
    await Promise.all(
      users.flatMap((user) =>
        Array.from({ length: 3 }, async () => {
          const parts = Array.from({ length: mebis * 2 }, () => 'x'.repeat(MEBI / 2));
          const response = await responses.respond(user, () => ({ parts })).catch(() => undefined);
          if (response) held.get(user)?.push(response);
        }),
      ),
    );
  const counted = quotas.total.responseChars;
  const sizes = await Promise.all(
    users.map(async (user) => {
      const texts = await Promise.all((held.get(user) ?? []).map((response) => response.text()));
      return texts.reduce((sum, { length }) => sum + length, 0);
    }),
  );
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(counted);
  expect(counted).toBeLessThanOrEqual(8 * MEBI);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(4 * MEBI);
  expect([quotas.total.responseChars, quotas.users.size]).toEqual([0, 0]);
});
