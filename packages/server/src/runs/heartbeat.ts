import type { Platform } from '@eventloom/core';
import type { RunReader } from './run-reader.ts';

/** Keeps silent connections open. One timer for all of them, which runs only while there are any: none is left behind. */
export class Heartbeat {
  readonly #platform: Platform;
  readonly #everyMs: number;
  readonly #readers = new Set<RunReader>();
  #callOff: (() => void) | undefined;

  constructor(platform: Platform, everyMs: number) {
    this.#platform = platform;
    this.#everyMs = everyMs;
  }

  join(reader: RunReader): void {
    this.#readers.add(reader);
    this.#set();
  }

  leave(reader: RunReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#callOff?.();
    this.#callOff = undefined;
  }

  /** Says something to every connection. */
  say(text: string): void {
    for (const reader of this.#readers) reader.say(text);
  }

  #set(): void {
    if (this.#callOff || this.#readers.size === 0) return;
    this.#callOff = this.#platform.schedule(this.#everyMs, () => {
      this.#callOff = undefined;
      for (const reader of this.#readers) reader.beat();
      this.#set();
    });
  }
}
