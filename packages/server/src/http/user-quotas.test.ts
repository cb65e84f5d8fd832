import { ManualPlatform } from '@eventloom/core/conformance';
import { describe, expect, test, vi } from 'vitest';
import { ServerBusyError, UserLimitError } from '../errors.ts';
import { DEFAULT_LIMITS } from '../server-limits.ts';
import { RequestQuota, UserQuotas } from './user-quotas.ts';

const LIMITS = {
  ...DEFAULT_LIMITS,
  maxRuns: 12,
  maxRunsPerUser: 4,
  maxQueuedRequests: 12,
  maxQueuedRequestsPerUser: 4,
  maxBodyBytesInFlight: 12,
  maxBodyBytesInFlightPerUser: 4,
};

/** Counts requests of users, one each, until all of these users are refused. Returns the number of each user. */
function takeAll(quotas: UserQuotas, kind: 'runs' | 'queued' | 'bodyBytes', users: readonly string[]): number[] {
  const taken = new Map(users.map((user) => [user, 0]));
  for (let left = [...users]; left.length > 0;)
    left = left.filter((user) => {
      try {
        new RequestQuota(quotas, user).count(kind, 1);
      } catch (error) {
        expect(UserLimitError.isInstance(error) || ServerBusyError.isInstance(error)).toBe(true);
        return false;
      }
      return taken.set(user, (taken.get(user) ?? 0) + 1);
    });
  return [...taken.values()];
}

describe.each(['runs', 'queued'] as const)('the limit of all %s', (kind) => {
  test('lets a user who is alone take as much as one user may have', () => {
    expect(takeAll(new UserQuotas({ ...LIMITS, maxRuns: 4, maxQueuedRequests: 4 }), kind, ['ann'])).toEqual([4]);
  });

  test('keeps room for others when users take all they can, who could fill it together', () => {
    const quotas = new UserQuotas(LIMITS);
    expect(takeAll(quotas, kind, ['u1', 'u2', 'u3'])).toEqual([3, 3, 3]);
    const more = () => new RequestQuota(quotas, 'u1').count(kind, 1);
    expect(more).toThrow(UserLimitError);
    expect(more).toThrow(/^the server has room for 3 more .* for other users, because the user has 3; try again/);
    expect(takeAll(quotas, kind, ['bob'])).toEqual([2]);
    expect(takeAll(quotas, kind, ['eve'])).toEqual([1]);
    expect(more).toThrow(ServerBusyError);
  });

  test('is reached when as many users as it allows have one each', () => {
    const users = Array.from({ length: 13 }, (_, index) => `user ${index}`);
    expect(takeAll(new UserQuotas(LIMITS), kind, users)).toEqual([...Array.from({ length: 12 }, () => 1), 0]);
  });
});

test('a check refuses what would be refused if it was counted, and counts nothing', () => {
  const quotas = new UserQuotas(LIMITS);
  for (let each = 0; each < 10; each++) quotas.check('runs', 4, 'ann');
  new RequestQuota(quotas, 'ann').count('runs', 4);
  expect(() => quotas.check('runs', 1, 'ann')).toThrow(UserLimitError);
  quotas.check('runs', 4, 'bob');
  expect([quotas.total.runs, quotas.users.size]).toEqual([4, 1]);
});

test('the bytes of bodies are limited for each user and in total, and users who take all they can leave an eighth to others', () => {
  const limits = { ...LIMITS, maxBodyBytesInFlight: 32, maxBodyBytesInFlightPerUser: 16 };
  const quotas = new UserQuotas(limits);
  expect(takeAll(quotas, 'bodyBytes', ['u1'])).toEqual([16]);
  expect(takeAll(quotas, 'bodyBytes', ['u2'])).toEqual([12]);
  const more = () => new RequestQuota(quotas, 'u2').count('bodyBytes', 1);
  expect(more).toThrow(UserLimitError);
  expect(more).toThrow(/^the server has room for 4 more .* for other users, because the user has 12; try again/);
  expect(takeAll(quotas, 'bodyBytes', ['bob'])).toEqual([2]);
});

test('the bytes of one user alone may fill the limit', () => {
  const limits = { ...LIMITS, maxBodyBytesInFlight: 32, maxBodyBytesInFlightPerUser: 32 };
  expect(takeAll(new UserQuotas(limits), 'bodyBytes', ['ann'])).toEqual([32]);
});

test('large bodies of unknown users leave an eighth of the bytes to small ones', () => {
  const kib = 1024;
  const quotas = new UserQuotas({ ...LIMITS, maxBodyBytesInFlight: 1024 * kib });
  const take = (bytes: number) => new RequestQuota(quotas, undefined).count('bodyBytes', bytes);
  take(800 * kib);
  expect(() => take(100 * kib)).toThrow(/^the server has room for 229376 more bytes .* for small bodies; try again/);
  const growing = new RequestQuota(quotas, undefined);
  growing.count('bodyBytes', 96 * kib);
  growing.count('bodyBytes', -32 * kib);
  take(64 * kib);
  expect(() => growing.count('bodyBytes', 1)).toThrow(ServerBusyError);
  take(64 * kib);
});

/** Requests of users that take places, on a clock that stands still. */
function createPlaces() {
  const platform = new ManualPlatform();
  const quotas = new UserQuotas(LIMITS, platform);
  const placed: RequestQuota[] = [];
  return {
    quotas,
    /** The requests that got a place, in that order. */
    placed,
    take: (userId: string, count: number, signal = new AbortController().signal): void => {
      for (let index = 0; index < count; index++) {
        const request = new RequestQuota(quotas, userId, { signal });
        if (request.place) void request.place.then(() => placed.push(request));
        else placed.push(request);
      }
    },
    /** Lets other work run, and then the requests that have a place by then. */
    advance: async (ms: number): Promise<void> => {
      platform.advance(ms);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

test('eight requests of a user have a place, and the next one gets one once other work has run', async () => {
  const { quotas, placed, take, advance } = createPlaces();
  take('ann', 10);
  take('bob', 1);
  expect(placed.map(({ userId }) => userId)).toEqual([...Array<string>(8).fill('ann'), 'bob']);
  placed[0]?.release();
  take('ann', 1);
  expect(placed.length).toBe(9);
  await advance(0);
  expect(placed.length).toBe(10);
  for (const index of [1, 2, 3, 4, 5, 6, 7, 8, 9]) placed[index]?.release();
  await advance(0);
  expect(placed.length).toBe(12);
  for (const index of [10, 11]) placed[index]?.release();
  await advance(0);
  expect([quotas.users.size, quotas.places?.users.size]).toEqual([0, 0]);
});

test('a place that is returned without other work in between is not taken at once', async () => {
  const { placed, take, advance } = createPlaces();
  // A store in the same process answers each request before the next one arrives.
  for (let index = 0; index < 8; index++) {
    take('ann', 1);
    placed[index]?.release();
  }
  take('ann', 1);
  expect(placed.length).toBe(8);
  await advance(0);
  expect(placed.length).toBe(9);
});

test('requests that have waited for a second begin without a free place, one every 50 ms', async () => {
  const { quotas, placed, take, advance } = createPlaces();
  take('ann', 20);
  await advance(999);
  expect(placed.length).toBe(8);
  await advance(1);
  expect(placed.length).toBe(9);
  await advance(49);
  expect(placed.length).toBe(9);
  await advance(1);
  expect(placed.length).toBe(10);
  // The next one gets a place once fewer than eight are taken.
  for (const request of placed.slice(0, 2)) request.release();
  await advance(0);
  expect(placed.length).toBe(10);
  placed[2]?.release();
  await advance(0);
  expect(placed.length).toBe(11);
  await advance(50);
  expect(placed.length).toBe(12);
  for (let index = 3; index < 20; index++) {
    placed[index]?.release();
    await advance(0);
  }
  expect(placed.length).toBe(20);
  // Everything was given back: eight requests have a place again.
  take('ann', 9);
  expect(placed.length).toBe(28);
  placed[20]?.release();
  await advance(0);
  expect(placed.length).toBe(29);
  for (const request of placed.slice(21)) request.release();
  await advance(0);
  expect(quotas.places?.users.size).toBe(0);
});

test('each request waits for a second before it begins without a place, also while others begin so', async () => {
  const { placed, take, advance } = createPlaces();
  const ofAnn = (): number => placed.filter(({ userId }) => userId === 'ann').length;
  take('ann', 9);
  await advance(980);
  take('bob', 9);
  take('ann', 1);
  await advance(20);
  expect(ofAnn()).toBe(9);
  await advance(979);
  expect(ofAnn()).toBe(9);
  await advance(21);
  expect(ofAnn()).toBe(10);
  expect(placed.filter(({ userId }) => userId === 'bob')).toHaveLength(9);
});

test('in a line that moves but is never empty, requests begin in the order in which they came', async () => {
  const { placed, quotas, take, advance } = createPlaces();
  take('ann', 8);
  for (let index = 0; index < 100; index++) {
    const coming = new RequestQuota(quotas, 'ann', { signal: new AbortController().signal });
    void coming.place?.then(() => placed.push(coming));
    take('ann', 1);
    await advance(30);
    for (const request of placed.splice(0, 2)) request.release();
    await advance(0);
    expect(placed).toHaveLength(8);
    expect(placed.at(-2)).toBe(coming);
  }
});

test('the newest of the requests that have waited for a second begins first: clients of older ones may have left', async () => {
  const { placed, take, advance } = createPlaces();
  take('ann', 208);
  await advance(10);
  const before = placed.length;
  const cancelling = new AbortController();
  take('ann', 1, cancelling.signal);
  await advance(1040);
  expect(placed).toHaveLength(before + 2);
  // Aborted requests begin at once: this one has begun already.
  cancelling.abort();
  await advance(0);
  expect(placed).toHaveLength(before + 2);
});

test('a thousand requests of a user may wait, and one more is refused', async () => {
  const { placed, take, advance } = createPlaces();
  take('ann', 1008);
  expect(() => take('ann', 1)).toThrow(
    new UserLimitError(
      '1000 requests of the user wait for their turn, which is the maximum; try again when one of them has been answered',
    ),
  );
  take('bob', 9);
  placed[0]?.release();
  await advance(0);
  take('ann', 1);
  expect(() => take('ann', 1)).toThrow(UserLimitError);
});

test('requests that are aborted leave the line at once, and give back what they took', async () => {
  const { quotas, placed, take, advance } = createPlaces();
  take('ann', 8);
  const leaving = new AbortController();
  take('ann', 900, leaving.signal);
  take('ann', 1, AbortSignal.abort());
  take('ann', 1);
  await advance(0);
  expect(placed.length).toBe(9);
  leaving.abort();
  await advance(0);
  expect(placed.length).toBe(909);
  expect(quotas.places?.users.get('ann')?.waiting?.size).toBe(1);
  for (const request of placed.slice(8)) request.release();
  await advance(0);
  expect(quotas.places?.users.get('ann')?.taken).toBe(8);
  placed[0]?.release();
  await advance(0);
  expect(placed.length).toBe(910);
});

test('requests that have begun leave no timer and no listener at their signals', () => {
  const platform = new ManualPlatform();
  const { signal } = new AbortController();
  const timers = new Set<object>();
  const schedule = (ms: number, callback: () => void): (() => void) => {
    const timer = {};
    timers.add(timer);
    const end = (): void => void timers.delete(timer);
    const cancel = platform.schedule(ms, () => {
      end();
      callback();
    });
    return () => {
      end();
      cancel();
    };
  };
  const quotas = new UserQuotas(LIMITS, { now: () => platform.now(), schedule });
  const listen = vi.spyOn(signal, 'addEventListener');
  const stopListening = vi.spyOn(signal, 'removeEventListener');
  const requests = Array.from({ length: 10 }, () => new RequestQuota(quotas, 'ann', { signal }));
  platform.advance(1000);
  requests[0]?.release();
  requests[1]?.release();
  platform.advance(0);
  expect(timers.size).toBe(0);
  expect(listen).toHaveBeenCalledTimes(2);
  expect(stopListening.mock.calls).toEqual(expect.arrayContaining(listen.mock.calls));
});

test('requests begin although the clock was set back while they waited', async () => {
  let nowMs = 3_600_000;
  const platform = new ManualPlatform();
  const quotas = new UserQuotas(LIMITS, { now: () => nowMs, schedule: platform.schedule.bind(platform) });
  let begun = 0;
  for (let index = 0; index < 12; index++)
    void new RequestQuota(quotas, 'ann', { signal: new AbortController().signal }).place?.then(() => begun++);
  platform.advance(1000);
  nowMs = 0;
  for (let index = 0; index < 3; index++) platform.advance(50);
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toBe(4);
});

test('places are free again if the timer that frees them is lost', () => {
  let nowMs = 0;
  const quotas = new UserQuotas(LIMITS, { now: () => nowMs, schedule: () => () => undefined });
  for (let index = 0; index < 20; index++) {
    const request = new RequestQuota(quotas, 'ann', { signal: new AbortController().signal });
    expect(request.place).toBeUndefined();
    request.release();
    nowMs += 500;
  }
});

test('a run that has its session returns the place of its request', async () => {
  const { placed, take, advance } = createPlaces();
  take('ann', 9);
  placed[0]?.count('queued', 1);
  await advance(0);
  expect(placed.length).toBe(8);
  placed[0]?.count('queued', -1);
  await advance(0);
  expect(placed.length).toBe(9);
});
