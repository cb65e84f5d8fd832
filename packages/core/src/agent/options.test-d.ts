import type { OptionNames } from './options.ts';

interface Options {
  readonly timeoutMs?: number;
  readonly retries: number;
}

export const whole: OptionNames<Options> = { timeoutMs: true, retries: true };
// @ts-expect-error a name is missing, though the option is optional
export const missing: OptionNames<Options> = { retries: true };
// @ts-expect-error `delayMs` is not an option
export const extra: OptionNames<Options> = { timeoutMs: true, retries: true, delayMs: true };
