import { otherWork, type Platform } from './platform.ts';

/** Lets callers do large pieces of work one after the other, and lets other work run in between. */
export class WorkQueue {
  readonly #platform: Pick<Platform, 'schedule'>;
  #last: Promise<void> = Promise.resolve();

  constructor(platform: Pick<Platform, 'schedule'>) {
    this.#platform = platform;
  }

  /** Resolves when the caller may begin its work, which includes everything that it does without waiting for other work. */
  async next(): Promise<void> {
    const previous = this.#last;
    this.#last = previous.then(() => otherWork(this.#platform));
    await previous;
  }
}
