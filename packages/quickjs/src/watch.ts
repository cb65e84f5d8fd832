import type { QuickJsBounds } from './quickjs-bounds.ts';

/** The engine asks once in so many loop turns and calls whether it is to go on. */
const OPERATIONS_PER_CHECK = 10_000;

/** Says when code has to stop, and from then on always. */
export class Watch {
  readonly #bounds: Pick<Required<QuickJsBounds>, 'timeoutMs' | 'maxOperations'>;
  readonly #now: () => number;
  readonly #endMs: number;
  #operations = 0;
  #stopped: string | undefined;

  constructor(bounds: Pick<Required<QuickJsBounds>, 'timeoutMs' | 'maxOperations'>, now: () => number) {
    this.#bounds = bounds;
    this.#now = now;
    this.#endMs = now() + bounds.timeoutMs;
  }

  /** Why the code was stopped. */
  get stopped(): string | undefined {
    return this.#stopped;
  }

  /** Counts a check. True when the code has to stop. */
  check(): boolean {
    this.#operations += OPERATIONS_PER_CHECK;
    if (this.#now() >= this.#endMs) this.#stopped ??= `Stopped after ${this.#bounds.timeoutMs} ms.`;
    if (this.#operations > this.#bounds.maxOperations)
      this.#stopped ??= `Stopped after ${this.#bounds.maxOperations} operations.`;
    return this.#stopped !== undefined;
  }
}
