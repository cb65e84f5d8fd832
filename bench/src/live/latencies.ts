import { sharedMs } from './clock.ts';

/** Latencies of pieces from the socket to the caller. Pieces of one call arrive in order. */
export class Latencies {
  readonly #arrivals: number[] = [];
  #next = 0;
  readonly #us: number[] = [];

  readonly onFrame = (atMs: number): void => void this.#arrivals.push(atMs);

  readonly onPiece = (): void => {
    const arrival = this.#arrivals[this.#next++];
    if (arrival !== undefined) this.#us.push((sharedMs() - arrival) * 1000);
  };

  /** Discards the values so far: those of the setup and of the warm-up. */
  begin(): void {
    this.#arrivals.length = 0;
    this.#next = 0;
    this.#us.length = 0;
  }

  /** The latencies in microseconds, one per piece. */
  get us(): readonly number[] {
    return this.#us;
  }
}

/** Returns the value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
