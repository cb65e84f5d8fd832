import { ConfigurationError } from '@eventloom/core';

/** What one execution may use. */
export interface QuickJsBounds {
  /** Time for the code itself, milliseconds. Default 1000. */
  readonly timeoutMs?: number;
  /**
   * Loop turns and calls, counted in ten thousands. Default 100 million, which is some seconds. It is the bound that holds where the
   * clock stands still while code runs, as it does on Cloudflare Workers.
   */
  readonly maxOperations?: number;
  /** Memory of the code's values, bytes. Default 32 MiB. */
  readonly memoryBytes?: number;
  /** Depth of calls, bytes of stack. Default 256 KiB. */
  readonly stackBytes?: number;
  /** Characters kept of everything that is printed; what comes after them is left out. Default 20,000. */
  readonly maxOutputChars?: number;
}

const DEFAULTS: Required<QuickJsBounds> = {
  timeoutMs: 1_000,
  maxOperations: 100_000_000,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  maxOutputChars: 20_000,
};

/** What a bound can be at most: the engine's address space, and its own stack. */
const MOST: Partial<QuickJsBounds> = { memoryBytes: 1024 * 1024 * 1024, stackBytes: 1024 * 1024 };

/** All bounds. @throws ConfigurationError for one that cannot work */
export function checkBounds(bounds: QuickJsBounds): Required<QuickJsBounds> {
  const checked: { -readonly [K in keyof QuickJsBounds]-?: number } = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof QuickJsBounds)[]) {
    const value = bounds[key] ?? DEFAULTS[key];
    const most = MOST[key] ?? Number.MAX_SAFE_INTEGER;
    if (!(value > 0 && value <= most)) throw new ConfigurationError(`${key}: must be more than 0 and at most ${most}`);
    checked[key] = value;
  }
  return checked;
}
