import { integer, type OptionRules } from './options.ts';

interface Options {
  readonly timeoutMs?: number;
  readonly retries: number;
}

export const whole: OptionRules<Options> = { timeoutMs: 'number', retries: integer(0) };
// @ts-expect-error `retries` is not text
export const wrongKind: OptionRules<Options> = { timeoutMs: 'number', retries: 'text' };
// @ts-expect-error a name is missing, though the option is optional
export const missing: OptionRules<Options> = { retries: 'number' };
// @ts-expect-error `delayMs` is not an option
export const extra: OptionRules<Options> = { timeoutMs: 'any', retries: 'any', delayMs: 'any' };
