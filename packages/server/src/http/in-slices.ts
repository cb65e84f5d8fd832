import type { Platform } from '@eventloom/core';
import { KeyedQueue, otherWork, within, WorkQueue } from '@eventloom/core/internal';

/** Number of characters that are processed before other work runs: a few milliseconds of work. */
export const CHARS_PER_SLICE: number = 128 * 1024;

/** Work in steps: yields after each one, with the number of characters that it processed. */
export type Steps<T> = Generator<number, T, undefined>;

/**
 * Does work in steps, and lets other work run in between: a large body would otherwise hold all other requests of the process. Work of less
 * than 128 Ki characters is done at once.
 */
export async function inSlices<T>(platform: Pick<Platform, 'schedule'>, steps: Steps<T>): Promise<T> {
  let chars = 0;
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    chars += step.value;
    if (chars < CHARS_PER_SLICE) continue;
    chars = 0;
    await otherWork(platform);
  }
}

/** Does work in steps without a pause. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Maximum time for which the work of a user holds the user's further work. */
const MAX_HOLD_MS = 5000;

/**
 * Does large reads of a user one after the other, each when the queue of all users reaches it, because a store in the same process answers
 * without a pause. A read that hangs does not hold the others for ever.
 */
export class UserQueues {
  readonly #platform: Pick<Platform, 'schedule'>;
  readonly #queue: WorkQueue;
  readonly #ofUsers = new KeyedQueue();

  constructor(platform: Pick<Platform, 'schedule'>, queue: WorkQueue = new WorkQueue(platform)) {
    this.#platform = platform;
    this.#queue = queue;
  }

  run<T>(userId: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      void this.#ofUsers.run(userId, async () => {
        await this.#queue.next();
        await within(this.#platform, work().then(resolve, reject), MAX_HOLD_MS);
      });
    });
  }
}
