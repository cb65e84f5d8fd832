import type { Platform } from '@eventloom/core';
import type { RunReader } from './run-reader.ts';

/** Keeps silent connections open. One timer for all of them, which runs only while there are any. */
export class Heartbeat {
  readonly #platform: Platform;
  readonly #everyMs: number;
  readonly #readers = new Set<RunReader>();
  #isSet = false;

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
  }

  /** Says something to every connection. */
  say(text: string): void {
    for (const reader of this.#readers) reader.say(text);
  }

  #set(): void {
    if (this.#isSet || this.#readers.size === 0) return;
    this.#isSet = true;
    this.#platform.schedule(this.#everyMs, () => {
      this.#isSet = false;
      for (const reader of this.#readers) reader.beat();
      this.#set();
    });
  }
}
