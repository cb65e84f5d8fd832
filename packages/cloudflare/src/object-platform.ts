import { type Platform, systemPlatform } from '@eventloom/core';

/**
 * The platform of a Durable Object. A pending timer keeps an object in memory, which is billed: so callbacks scheduled as `idle` run
 * at once when the object has nothing else to do, and leave no timer.
 */
export class ObjectPlatform implements Platform {
  readonly #upkeep = new Set<() => void>();

  now(): number {
    return systemPlatform.now();
  }

  newEventId(): string {
    return systemPlatform.newEventId();
  }

  newUuid(): string {
    return systemPlatform.newUuid();
  }

  random(): number {
    return systemPlatform.random();
  }

  background(work: Promise<unknown>): void {
    systemPlatform.background(work);
  }

  schedule(delayMs: number, callback: () => void, { idle = false }: { readonly idle?: boolean } = {}): () => void {
    if (!idle) return systemPlatform.schedule(delayMs, callback);
    const run = (): void => {
      callOff();
      callback();
    };
    const clear = systemPlatform.schedule(delayMs, run);
    const callOff = (): void => {
      clear();
      this.#upkeep.delete(run);
    };
    this.#upkeep.add(run);
    return callOff;
  }

  /** Runs the pending idle callbacks. Those that they schedule wait until the next call. */
  rest(): void {
    const waiting = Array.from(this.#upkeep);
    for (const run of waiting) run();
  }
}
