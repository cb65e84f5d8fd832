import { METER } from './meter.ts';
import type { QuickJsBounds } from './quickjs-bounds.ts';

/**
 * Number of ticks (some milliseconds) in which the engine can stop by itself, with a line number in the error: it checks in loops and calls
 * of the code.
 */
const TICKS_TO_STOP = 16;

/** Decides when code must stop. The decision to stop is final. */
export class Watch {
  readonly #bounds: Pick<Required<QuickJsBounds>, 'timeoutMs' | 'maxOperations'>;
  readonly #now: () => number;
  #endMs = Infinity;
  #operations = 0;
  #ticksLeft = TICKS_TO_STOP;
  #stopped: string | undefined;

  constructor(bounds: Pick<Required<QuickJsBounds>, 'timeoutMs' | 'maxOperations'>, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** The reason why the code must stop; undefined if it may run. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** Starts the time of the code. */
  start(): void {
    this.#endMs = this.#now() + this.#bounds.timeoutMs;
    this.#operations = 0;
  }

  /** Counts METER.turns operations. @throws RangeError if the code did not stop at its limit, because it is inside a built-in function */
  tick(): void {
    this.#operations += METER.turns;
    if (this.check() && this.#ticksLeft-- <= 0) throw new RangeError(this.#stopped);
  }

  /** True if the code must stop. */
  check(): boolean {
    if (this.#stopped !== undefined) return true;
    const { timeoutMs, maxOperations } = this.#bounds;
    if (this.#now() >= this.#endMs) this.#stopped = `Stopped after ${timeoutMs} ms.`;
    else if (this.#operations > maxOperations) this.#stopped = `Stopped after ${maxOperations} operations.`;
    return this.#stopped !== undefined;
  }
}
