import type { Platform } from '@eventloom/core';

/** A connection that a `Heartbeat` checks. */
interface Beating {
  /** Sends a sign of life, and checks for one of the other side. */
  beat(): void;
}

/** Keeps silent connections open. One timer serves all of them, and runs only while there are any. */
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

  /** Calls `act` with every connection. */
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
