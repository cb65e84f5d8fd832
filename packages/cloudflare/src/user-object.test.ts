import { ConfigurationError } from '@eventloom/core';
import { expect, test } from 'vitest';
import { checkAppNames } from './user-object.ts';

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
