import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { ABORT_SIGNAL_RULE, checkOptions, integer, type OptionRules, wrongOption } from './options.ts';

interface Options {
  readonly timeoutMs?: number;
  readonly retries?: number;
}

const OPTIONS: OptionRules<Options> = { timeoutMs: 'number', retries: 'number' };

test('checkOptions accepts known options', () => {
  expect(() => checkOptions('tool', OPTIONS, { timeoutMs: 1 })).not.toThrow();
});

test('checkOptions names an unknown option and all known ones', () => {
  const check = (): void => checkOptions('tool', OPTIONS, { toString: 1 });
  expect(check).toThrow(ConfigurationError);
  expect(check).toThrow('tool: has no option "toString"; it has timeoutMs, retries');
});

test.each([
  ['timeout', '"timeoutMs"'],
  ['timeout_ms', '"timeoutMs"'],
  ['retrys', '"retries"'],
  ['retreis', '"retries"'],
  ['maxRetries', '"retries"'],
])('checkOptions suggests the option that %s may stand for', (option, meant) => {
  expect(() => checkOptions('tool', OPTIONS, { [option]: 1 })).toThrow(
    `has no option "${option}"; did you mean ${meant}?`,
  );
});

test('checkOptions adds the hint for an option name of another library', () => {
  const check = (): void => checkOptions('tool', OPTIONS, { wait: 1 }, { wait: 'write timeoutMs' });
  expect(check).toThrow('tool: has no option "wait"; write timeoutMs');
});

test.each([
  [undefined, 'nothing'],
  ['x.db', 'a string'],
  [[], 'a list'],
  [class Tool {}, 'the class Tool'],
])('checkOptions refuses %j in place of options', (given, got) => {
  expect(() => checkOptions('tool', OPTIONS, given as unknown as object)).toThrow(
    `tool: expected an object of options, got ${got}`,
  );
});

test('checkOptions suggests the first option if the caller has no example', () => {
  const rules = { path: { is: 'text', write: "'sessions.db'" }, waitMs: 'number' };
  expect(() => checkOptions('tool', rules, [])).toThrow("got a list; write { path: 'sessions.db' }");
});

test('checkOptions refuses an object without the method that its rule names, such as a controller in place of its signal', () => {
  const rules = { abortSignal: ABORT_SIGNAL_RULE };
  const controller = new AbortController();
  expect(() => checkOptions('runAsync', rules, { abortSignal: controller })).toThrow(
    'runAsync: abortSignal: expected an AbortSignal, got an object of the class AbortController; write abortSignal: controller.signal',
  );
  for (const abortSignal of [{}, { aborted: 'no' }, { addEventListener: null }])
    expect(() => checkOptions('runAsync', rules, { abortSignal })).toThrow('expected an AbortSignal');
  expect(() => checkOptions('runAsync', rules, { abortSignal: controller.signal })).not.toThrow();
});

interface Kinds {
  readonly name?: string;
  readonly isFast?: boolean;
  readonly items?: readonly string[];
  readonly run?: () => void;
  readonly rule?: string | (() => void);
  readonly service?: object;
  readonly mode?: 'a' | 'better';
  readonly rounds?: number;
  readonly waitMs?: number;
  readonly rest?: unknown;
}

const KINDS: OptionRules<Kinds> = {
  name: { is: 'text', write: "'helper'" },
  isFast: 'flag',
  items: 'list',
  run: 'function',
  rule: 'text or function',
  service: { is: 'object', wanted: 'a service', write: 'new Service()' },
  mode: { is: 'text', oneOf: ['a', 'better'] },
  rounds: integer(1, 5),
  waitMs: 'number',
  rest: 'any',
};

test.each<[object, string]>([
  [{ name: 5 }, "name: expected a string, got the number 5; write name: 'helper'"],
  [{ isFast: 'yes' }, 'isFast: expected true or false, got a string; write isFast: true'],
  [{ items: {} }, 'items: expected a list, got an object; write items: […]'],
  [{ run: null }, 'run: expected a function, got null; write run: () => { … }'],
  [{ rule: true }, "rule: expected a string or a function, got true; write rule: '…'"],
  [{ service: [] }, 'service: expected a service, got a list; write service: new Service()'],
  [{ mode: 'bettr' }, 'mode: expected one of a, better, got "bettr"; write mode: \'better\''],
  [{ mode: 7 }, "mode: expected one of a, better, got the number 7; write mode: 'a'"],
  [{ rounds: 6 }, 'rounds: expected an integer from 1 to 5, got the number 6; write rounds: 5'],
  [{ rounds: 1.5 }, 'got the number 1.5; write rounds: 5'],
  [{ waitMs: Number.NaN }, 'waitMs: expected a number, got the number NaN; write waitMs: 10000'],
  [{ waitMs: 5n }, 'waitMs: expected a number, got a bigint'],
])('checkOptions refuses %o with what to write', (given, message) => {
  expect(() => checkOptions('owner', KINDS, given)).toThrow(ConfigurationError);
  expect(() => checkOptions('owner', KINDS, given)).toThrow(`owner: ${message}`.replace('owner: got', 'got'));
});

test('checkOptions accepts values of the kinds, undefined, and any value for options of the kind any', () => {
  const given = { name: 'a', isFast: false, items: [], run: () => 1, rule: () => 1, service: new Map(), mode: 'a' };
  expect(() => checkOptions('owner', KINDS, { ...given, rounds: 5, waitMs: 0.5, rest: null })).not.toThrow();
  expect(() => checkOptions('owner', KINDS, { name: undefined, rest: Symbol.iterator })).not.toThrow();
});

test('checkOptions does not quote a string that may be a secret', () => {
  expect(() => checkOptions('owner', KINDS, { service: 'sk-secret' })).toThrow(/^(?!.*sk-secret)/);
});

test('wrongOption names an item of a list, and the option to write', () => {
  expect(wrongOption('Runner', 'plugins[1]', 'a plugin', undefined, '[new LoggingPlugin()]').message).toBe(
    'Runner: plugins[1]: expected a plugin, got nothing; write plugins: [new LoggingPlugin()]',
  );
});
