import type { Platform } from '@eventloom/core';

/** One execution of a tool with an effect. */
export interface Effect {
  readonly tool: string;
  readonly branch: string;
  readonly callId: string;
}

/** The observations of a play outside of the store. The worlds of its processes share their observations. */
export class World {
  readonly platform: Platform;
  readonly effects: Effect[];
  /** The texts of answers that a model, a tool or a node has seen. */
  readonly seen: Set<string>;
  readonly #failed: Set<string>;
  readonly #isDead: () => boolean;

  /** @param before the world of an earlier process */
  constructor(platform: Platform, before?: World, isDead = () => false) {
    this.platform = platform;
    this.effects = before?.effects ?? [];
    this.seen = before?.seen ?? new Set();
    this.#failed = before ? before.#failed : new Set();
    this.#isDead = isDead;
  }

  /** Notes an effect, unless its process is dead. */
  act(effect: Effect): void {
    if (!this.#isDead()) this.effects.push(effect);
  }

  /** Waits by the clock of the play. @throws the reason of the abort */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const cancel = this.platform.schedule(ms, resolve);
    const leave = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', leave);
    await promise.finally(() => {
      cancel();
      signal?.removeEventListener('abort', leave);
    });
  }

  /** Notes the texts of answers in a value. */
  see(value: unknown): void {
    for (const [text] of JSON.stringify(value ?? null).matchAll(/answer-\d+/g)) this.seen.add(text);
  }

  /** Returns true the first time that something of this name fails, and always if it does so every time. */
  fails(name: string, isOnce: boolean): boolean {
    if (isOnce && this.#failed.has(name)) return false;
    this.#failed.add(name);
    return true;
  }
}
