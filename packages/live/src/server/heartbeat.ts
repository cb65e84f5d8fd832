import type { Platform } from '@eventloom/core';

/** A connection that is looked after. */
export interface Beating {
  /** Says that this side lives, and finds out whether the other one does. */
  beat(): void;
}

/** Keeps silent connections open. One timer for all of them, which runs only while there are any: none is left behind. */
export class Heartbeat<T extends Beating> {
  readonly #platform: Platform;
  readonly #everyMs: number;
  readonly #readers = new Set<T>();
  #callOff: (() => void) | undefined;

  constructor(platform: Platform, everyMs: number) {
    this.#platform = platform;
    this.#everyMs = everyMs;
  }

  join(reader: T): void {
    this.#readers.add(reader);
    this.#set();
  }

  leave(reader: T): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#callOff?.();
    this.#callOff = undefined;
  }

  /** Does something to every connection. */
  each(act: (reader: T) => void): void {
    for (const reader of this.#readers) act(reader);
  }

  #set(): void {
    if (this.#callOff || this.#readers.size === 0) return;
    this.#callOff = this.#platform.schedule(this.#everyMs, () => {
      this.#callOff = undefined;
      this.each((reader) => reader.beat());
      this.#set();
    });
  }
}
