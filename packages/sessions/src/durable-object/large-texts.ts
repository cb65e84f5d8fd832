import { type MaybePromise, SizeLimitError } from '@eventloom/core';
import { storageFailure } from '@eventloom/core/internal';
import { fitsInBytes, withinLimit } from '../sql/size-limit.ts';
import type { RowTexts } from '../sql/sql-connection.ts';
import type { LargeValues } from './large-values.ts';

/** Maximum size of a text in a row, in bytes. A row takes 2 MB, including keys and names of a few thousand bytes. */
export const MAX_ROW_BYTES = 1_950_000;
/** Maximum size of a value, in bytes. Reading a value takes several times as much of the 128 MB of memory that an object has. */
const MAX_VALUE_BYTES = 16_777_216;

const STORAGE = 'the session storage';

/** Placeholder for a value that is not loaded yet. */
const STAND_IN: unknown = { timestamp: Number.NaN, actions: {} };

/** Placeholder in rows for the address of a value that is not written yet. The rows are rolled back. */
const UNPLACED = '@';

/** A written value and the address by which a row refers to it. */
interface PlacedValue {
  readonly json: string;
  readonly text: string;
}

/** Loaded values by the text in the row; undefined for a value that did not exist. */
type LoadedValues = Map<string, (() => unknown) | undefined>;

/**
 * The texts of rows, with values outside their rows if they are too large. Work on rows is synchronous and one
 * transaction; large values are read and written asynchronously. Work that needs such a value is therefore rolled back
 * at its end, the values are read and written, and the work is repeated. Work without large values is done once,
 * synchronously.
 */
export class LargeTexts implements RowTexts {
  readonly maxBytes = MAX_ROW_BYTES;
  readonly #values: LargeValues;
  readonly #maxRowBytes: number;
  /** Values that were written for the current work. */
  #placed: PlacedValue[] = [];
  #loaded: LoadedValues = new Map();
  /** Values that the current work needs, but that are not written or loaded. */
  #unplaced: string[] = [];
  #unloaded = new Set<string>();

  /** @param maxRowBytes maximum size of a value in its row */
  constructor(values: LargeValues, maxRowBytes: number) {
    this.#values = values;
    this.#maxRowBytes = Math.min(maxRowBytes, MAX_ROW_BYTES);
  }

  write(json: string, kind: string, name: string, share = 1): string {
    if (fitsInBytes(json, this.#maxRowBytes / share)) return json;
    withinLimit(json, MAX_VALUE_BYTES, kind, name);
    const at = this.#placed.findIndex((placed) => placed.json === json);
    const [placed] = at < 0 ? [] : this.#placed.splice(at, 1);
    if (placed) return placed.text;
    this.#unplaced.push(json);
    return UNPLACED;
  }

  read(text: unknown): unknown {
    const json = String(text);
    if (!json.startsWith('@')) return JSON.parse(json);
    const loaded = this.#loaded.get(json);
    if (loaded) return loaded();
    if (json !== UNPLACED) this.#unloaded.add(json);
    return STAND_IN;
  }

  sizeOf(text: unknown): number {
    const json = String(text);
    return json.startsWith('@') ? Number.parseInt(json.slice(1), 10) || 0 : json.length;
  }

  /**
   * Checks at the end of all work, inside its transaction, that no value was missing.
   *
   * @throws SizeLimitError, which `run` catches
   */
  check(): void {
    if (this.#isLacking) throw new SizeLimitError('the work has values that are not in rows');
  }

  /** Does work on rows, and repeats it with the values that were missing. @throws StorageError if the storage or the bucket fails */
  run<T>(work: () => T): MaybePromise<T> {
    try {
      return work();
    } catch (error) {
      if (!this.#isLacking) throw storageFailure(STORAGE, error);
    }
    return this.#runAgain(work);
  }

  get #isLacking(): boolean {
    return this.#unplaced.length > 0 || this.#unloaded.size > 0;
  }

  async #runAgain<T>(work: () => T): Promise<T> {
    const placed: PlacedValue[] = [];
    const loaded: LoadedValues = new Map();
    try {
      for (;;) {
        await this.#provide(placed, loaded);
        this.#placed = [...placed];
        this.#loaded = loaded;
        try {
          return work();
        } catch (error) {
          if (!this.#isLacking) throw error;
        } finally {
          this.#placed = [];
          this.#loaded = new Map();
        }
      }
    } catch (error) {
      throw storageFailure(STORAGE, error);
    } finally {
      this.#values.release(placed.map(({ text }) => text));
    }
  }

  /**
   * Writes and reads the missing values one by one, so that at most one text is in memory beside the values. Other work
   * may run in between.
   *
   * @throws the error of writing or reading
   */
  async #provide(placed: PlacedValue[], loaded: LoadedValues): Promise<void> {
    const unplaced = this.#unplaced.splice(0);
    const unloaded = Array.from(this.#unloaded);
    this.#unloaded.clear();
    for (const json of unplaced) {
      const text = await this.#values.put(json);
      placed.push({ json, text });
      // Work may read a value that it writes.
      loaded.set(text, () => JSON.parse(json));
    }
    for (const text of unloaded) {
      const json = await this.#values.get(text);
      if (json !== undefined) {
        const value: unknown = JSON.parse(json);
        loaded.set(text, () => value);
      } else if (loaded.has(text)) {
        throw this.#values.missingError(text);
      } else {
        // The value was replaced or deleted after its row was read, so the row is read again.
        loaded.set(text, undefined);
      }
    }
  }
}
