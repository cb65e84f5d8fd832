import { expect, test } from 'vitest';
import { ConfigurationError } from '../errors.ts';
import { checkKnown, type OptionNames } from './options.ts';

interface Options {
  readonly timeoutMs?: number;
  readonly retries?: number;
}

const OPTIONS: OptionNames<Options> = { timeoutMs: true, retries: true };

test('checkKnown accepts known options', () => {
  expect(() => checkKnown('tool', OPTIONS, { timeoutMs: 1 })).not.toThrow();
});

test('checkKnown names an unknown option and all known ones', () => {
  const check = (): void => checkKnown('tool', OPTIONS, { toString: 1 });
  expect(check).toThrow(ConfigurationError);
  expect(check).toThrow('tool: has no option "toString"; it has timeoutMs, retries');
});

test.each([
  ['timeout', '"timeoutMs"'],
  ['timeout_ms', '"timeoutMs"'],
  ['retrys', '"retries"'],
  ['retreis', '"retries"'],
  ['maxRetries', '"retries"'],
])('checkKnown suggests the option that %s may stand for', (option, meant) => {
  expect(() => checkKnown('tool', OPTIONS, { [option]: 1 })).toThrow(
    `has no option "${option}"; did you mean ${meant}?`,
  );
});

test('checkKnown adds the hint for an option name of another library', () => {
  const check = (): void => checkKnown('tool', OPTIONS, { wait: 1 }, { wait: 'write timeoutMs' });
  expect(check).toThrow('tool: has no option "wait"; write timeoutMs');
});

test.each([
  [undefined, 'nothing'],
  ['x.db', 'a string'],
  [[], 'a list'],
])('checkKnown refuses %j in place of options', (given, got) => {
  expect(() => checkKnown('tool', OPTIONS, given as unknown as object)).toThrow(
    `tool: expected an object of options, got ${got}`,
  );
});
