/** Lets a number of nodes work at the same time, first come, first served. */
export class Slots {
  #free: number;
  readonly #queue: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves when there is a slot. */
  async take(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  giveBack(): void {
    const next = this.#queue.shift();
    if (next) next();
    else this.#free++;
  }
}
