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

test('checkKnown suggests the option that begins like the unknown one', () => {
  expect(() => checkKnown('tool', OPTIONS, { timeout: 1 })).toThrow('has no option "timeout"; it has timeoutMs');
});
