import { type MaybePromise, SizeLimitError } from '@eventloom/core';
import { storageFailure } from '@eventloom/core/internal';
import { isWithin, withinLimit } from '../sql/size-limit.ts';
import type { RowTexts } from '../sql/sql-connection.ts';
import type { LargeValues } from './large-values.ts';

/** A row takes 2 MB; beside a text it has keys and names of a few thousand bytes. */
export const MAX_ROW_BYTES = 1_950_000;
/** Reading one takes a few times as much of the 128 MB that an object has. */
const MAX_VALUE_BYTES = 16_777_216;

/**
 * Maximum size of the state that a session reads at once, of the 128 MB that an object has: its own state takes one
 * value of the largest size and a little more.
 */
const MAX_STATE = { app: 4_000_000, user: 4_000_000, session: 17_000_000 };

const STORAGE = 'the session storage';

/** Stands for any value, while the rows are read for the first time. */
const STAND_IN: unknown = { timestamp: Number.NaN, actions: {} };

/** In the rows, until they are undone, where a value is to be referred to. */
const UNPLACED = '@';

/** A value that was written, and what a row refers to it by. */
interface PlacedValue {
  readonly json: string;
  readonly text: string;
}

/** Loaded values, by the text in the row; undefined if the value did not exist. */
type LoadedValues = Map<string, (() => unknown) | undefined>;

/**
 * Rows with values too large for a row, which lie elsewhere. Work on rows is synchronous and all of its writes are one transaction;
 * values are written and read before it. So work that comes upon such a value is undone at its end; what it asked for is
 * written and read, and it is done again. Work without large values is done once, at once.
 */
export class LargeTexts implements RowTexts {
  readonly maxBytes = MAX_ROW_BYTES;
  readonly maxState = MAX_STATE;
  readonly #values: LargeValues;
  readonly #maxRowBytes: number;
  /** Values that the current work may refer to, and values that it may read. */
  #placed: PlacedValue[] = [];
  #loaded: LoadedValues = new Map();
  /** Values that the current work lacks. */
  #unplaced: string[] = [];
  #unloaded = new Set<string>();

  /** @param maxRowBytes what is larger lies elsewhere */
  constructor(values: LargeValues, maxRowBytes: number) {
    this.#values = values;
    this.#maxRowBytes = Math.min(maxRowBytes, MAX_ROW_BYTES);
  }

  write(json: string, kind: string, name: string, share = 1): string {
    if (isWithin(json, this.#maxRowBytes / share)) return json;
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

  /** To be called at the end of all work, inside its transaction. @throws SizeLimitError for `run`, when a value was lacking */
  check(): void {
    if (this.#isLacking) throw new SizeLimitError('the work has values that are not in rows');
  }

  /** Does work on rows; when values were lacking, again with them. @throws StorageError when the storage or the bucket fails */
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
   * Writes and reads what the work lacked, one after the other: no two texts are in memory beside what they say. Other work is done
   * meanwhile. @throws what writing or reading throws
   */
  async #provide(placed: PlacedValue[], loaded: LoadedValues): Promise<void> {
    const unplaced = this.#unplaced.splice(0);
    const unloaded = Array.from(this.#unloaded);
    this.#unloaded.clear();
    for (const json of unplaced) {
      const text = await this.#values.put(json);
      placed.push({ json, text });
      // What is written may be read in the same work.
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
        // Replaced or deleted since the row was read: the row is read again.
        loaded.set(text, undefined);
      }
    }
  }
}
