import { ConfigurationError } from '@eventloom/core';
import { UserLimitError } from '@eventloom/server';
import { UserQuotas } from '@eventloom/server/internal';
import { expect, test } from 'vitest';
import { checkAppNames, toObjectLimits } from './user-object.ts';

const made = (...appNames: readonly string[]) => appNames.map((appName) => ({ appName }));

test('createApps must return exactly the named apps, in any order', () => {
  expect(() => checkAppNames(['app', 'shop'], made('shop', 'app'))).not.toThrow();
});

test.each([
  [['app'], made('shop')],
  [['app'], made('app', 'shop')],
  [['app', 'shop'], made('app')],
  [['app', 'shop'], made('app', 'app')],
])('names %j for other apps are refused: %j', (appNames, runners) => {
  expect(() => checkAppNames(appNames, runners)).toThrow(ConfigurationError);
});

test.each([
  ['runs', { maxRuns: 2 }],
  ['queued', { maxQueuedRequests: 2 }],
  ['bodyBytes', { maxBodyBytesInFlight: 2 }],
  ['responseChars', { maxResponseChars: 2 }],
] as const)('more %s than %j are refused as those of the user, and not as a failure of the server', (kind, given) => {
  const quotas = new UserQuotas(toObjectLimits(given));
  expect(() => quotas.check(kind, 2, 'ann')).not.toThrow();
  expect(() => quotas.check(kind, 3, 'ann')).toThrow(UserLimitError);
});

test('an object keeps a lower limit of the user, and no runs in memory', () => {
  expect(toObjectLimits({ maxRuns: 10, maxRunsPerUser: 5, maxKeptRuns: 7 })).toMatchObject({
    maxRuns: 10,
    maxRunsPerUser: 5,
    maxKeptRuns: 0,
  });
});
