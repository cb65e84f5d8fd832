import { describe, expect, test } from 'vitest';
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
    expect(more).toThrow(/^the server has room for 3 more .* for users with fewer than 3; try again/);
    expect(takeAll(quotas, kind, ['bob'])).toEqual([2]);
    expect(takeAll(quotas, kind, ['eve'])).toEqual([1]);
    expect(more).toThrow(ServerBusyError);
  });

  test('can be filled by as many users as it has places', () => {
    const users = Array.from({ length: 13 }, (_, index) => `user ${index}`);
    expect(takeAll(new UserQuotas(LIMITS), kind, users)).toEqual([...Array.from({ length: 12 }, () => 1), 0]);
  });
});

test('the bytes of bodies are limited for each user and in total, without room for others', () => {
  expect(takeAll(new UserQuotas(LIMITS), 'bodyBytes', ['u1', 'u2', 'u3', 'bob'])).toEqual([3, 3, 3, 3]);
  const quotas = new UserQuotas(LIMITS);
  expect(takeAll(quotas, 'bodyBytes', ['u1'])).toEqual([4]);
  expect(takeAll(quotas, 'bodyBytes', ['u2', 'u3'])).toEqual([4, 4]);
  expect(takeAll(quotas, 'bodyBytes', ['bob'])).toEqual([0]);
});
