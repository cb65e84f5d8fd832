import { wrongOption } from '@eventloom/core/internal';
import { LEAST_MEMORY_BYTES } from './create-engine.ts';

/** Limits of one execution. */
export interface QuickJsBounds {
  /** Maximum run time of the code in milliseconds. Default 1,000. */
  readonly timeoutMs?: number;
  /**
   * Maximum number of loop iterations in the engine: a statement takes one or a few, a built-in function one for every
   * few characters or items. Counted in steps of 65,536. Default 250 million, which takes some seconds. This limit also
   * works where the clock does not advance while code runs, as on Cloudflare Workers.
   */
  readonly maxOperations?: number;
  /**
   * Maximum memory of the engine in bytes: its own stack and data (about 6 MiB), and the values of the code. At least 16 MiB, which an
   * engine allocates at its start. Default 32 MiB.
   */
  readonly memoryBytes?: number;
  /** Maximum size of the call stack in bytes. Default 256 KiB. */
  readonly stackBytes?: number;
  /** Maximum number of printed characters to keep; further output is dropped. Default 20,000. */
  readonly maxOutputChars?: number;
}

const DEFAULTS: Required<QuickJsBounds> = {
  timeoutMs: 1_000,
  maxOperations: 250_000_000,
  memoryBytes: 32 * 1024 * 1024,
  stackBytes: 256 * 1024,
  maxOutputChars: 20_000,
};

/** Maximum values of the limits, which the engine's address space and stack determine. */
const MOST: Partial<QuickJsBounds> = { memoryBytes: 1024 * 1024 * 1024, stackBytes: 1024 * 1024 };

/** Applies defaults to the limits. `owner` starts the message of an error. @throws ConfigurationError for a limit out of range */
export function checkBounds(owner: string, bounds: QuickJsBounds): Required<QuickJsBounds> {
  const checked: { -readonly [K in keyof QuickJsBounds]-?: number } = { ...DEFAULTS };
  for (const key of Object.keys(DEFAULTS) as (keyof QuickJsBounds)[]) {
    const value = bounds[key] ?? DEFAULTS[key];
    const least = key === 'memoryBytes' ? LEAST_MEMORY_BYTES : Number.MIN_VALUE;
    const most = MOST[key] ?? Number.MAX_SAFE_INTEGER;
    if (!(value >= least && value <= most)) {
      const bottom = key === 'memoryBytes' ? `at least ${least}` : 'more than 0';
      throw wrongOption(owner, key, `a number of ${bottom} and at most ${most}`, value, String(DEFAULTS[key]));
    }
    checked[key] = value;
  }
  return checked;
}
