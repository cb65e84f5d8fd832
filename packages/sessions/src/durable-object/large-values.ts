import { ConfigurationError, type Platform } from '@eventloom/core';
import type { DurableObjectSqlStorage } from './durable-object-connection.ts';
import { largeValueTriggers } from './large-value-triggers.ts';

/** Number of characters of a piece, because a row has up to 2 MB and a character up to three bytes. */
const PIECE_CHARS = 512 * 1024;
/** Maximum number of objects that R2 deletes in one call. */
const MAX_DELETED = 1000;

const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_loose_values (text TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS eventloom_value_pieces (
    text TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    piece TEXT NOT NULL,
    PRIMARY KEY (text, ordinal)
  ) STRICT;
`;

/**
 * The JSON of values that are too large for a row: in a bucket, or in pieces in the object's storage. A row refers to a value by an address
 * that begins with `@` and the length of the JSON. Values are not shared between rows, except between the state and the initial state.
 *
 * A value is written before the row that refers to it. A value without a reference is loose: the transaction that makes it loose records
 * that, and `sweep` deletes loose values. Therefore no value is lost or left behind, whenever the object stops.
 */
export class LargeValues {
  readonly #storage: DurableObjectSqlStorage;
  readonly #bucket: LargeValueBucket | undefined;
  readonly #prefix: string;
  readonly #platform: Platform;
  readonly #onLoose: () => void;
  /** Loose values to which a row will soon refer. They are not swept. */
  readonly #held = new Set<string>();

  constructor(
    storage: DurableObjectSqlStorage,
    bucket: LargeValueBucket | undefined,
    prefix: string,
    platform: Platform,
    onLoose: () => void = () => undefined,
  ) {
    this.#storage = storage;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#platform = platform;
    this.#onLoose = onLoose;
  }

  /** Creates the tables and triggers. Call it after the tables of sessions were created. */
  begin(): void {
    this.#all(TABLES + largeValueTriggers);
  }

  /** Writes a value, which is not swept until it is released. @returns the address by which a row refers to it */
  async put(json: string): Promise<string> {
    const text = `@${json.length}-${this.#platform.newUuid()}`;
    this.#all('INSERT INTO eventloom_loose_values VALUES (?1)', text);
    this.#held.add(text);
    try {
      if (!this.#bucket) this.#putPieces(text, json);
      this.#onLoose();
      if (this.#bucket) {
        // Recorded as loose first. Otherwise the value would stay in the bucket forever if the object stopped now.
        await this.#storage.sync?.();
        await this.#bucket.put(this.#keyOf(text), json);
      }
    } catch (error) {
      this.release([text]);
      throw error;
    }
    return text;
  }

  /** Returns the JSON of a value; undefined if it does not exist. */
  async get(text: string): Promise<string | undefined> {
    const pieces = this.#all('SELECT piece FROM eventloom_value_pieces WHERE text = ?1 ORDER BY ordinal', text);
    if (pieces.length > 0) return pieces.map(({ piece }) => String(piece)).join('');
    return (await this.#bucket?.get(this.#keyOf(text)))?.text();
  }

  /** Creates the error for a missing value to which a row refers. */
  missingError(text: string): ConfigurationError {
    return new ConfigurationError(
      `the sessions of this object refer to ${this.#keyOf(text)}, which the bucket does not have; check that the bucket is the right one and does not expire objects`,
    );
  }

  release(texts: readonly string[]): void {
    for (const text of texts) this.#held.delete(text);
  }

  /** True if there are loose values, including those to which a row will soon refer. */
  get hasLoose(): boolean {
    return this.#all(`SELECT 1 ${this.#fromLoose} LIMIT 1`).length > 0;
  }

  /** Deletes loose values. A value that could not be deleted stays loose. */
  async sweep(): Promise<void> {
    const texts = this.#loose();
    if (texts.length === 0) return;
    await this.#bucket?.delete(texts.map((text) => this.#keyOf(text)));
    this.#storage.transactionSync(() => {
      for (const text of texts) {
        this.#all('DELETE FROM eventloom_value_pieces WHERE text = ?1', text);
        this.#all('DELETE FROM eventloom_loose_values WHERE text = ?1', text);
      }
    });
  }

  /** Condition for loose values that can be deleted: values in a bucket stay loose while no bucket is bound. */
  get #fromLoose(): string {
    const condition = this.#bucket ? '' : 'WHERE text IN (SELECT text FROM eventloom_value_pieces)';
    return `FROM eventloom_loose_values ${condition}`;
  }

  #loose(): string[] {
    const texts = this.#all(`SELECT text ${this.#fromLoose} LIMIT ${MAX_DELETED}`).map(({ text }) => String(text));
    return texts.filter((text) => !this.#held.has(text));
  }

  #putPieces(text: string, json: string): void {
    this.#storage.transactionSync(() => {
      let start = 0;
      for (let ordinal = 0; start < json.length; ordinal++) {
        const end = pieceEnd(json, start + PIECE_CHARS);
        this.#all(
          'INSERT INTO eventloom_value_pieces VALUES (?1, CAST(?2 AS INTEGER), ?3)',
          text,
          ordinal,
          json.slice(start, end),
        );
        start = end;
      }
    });
  }

  #keyOf(text: string): string {
    return this.#prefix + text.slice(1);
  }

  #all(query: string, ...bindings: (number | string)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray();
  }
}

/** Returns the end of a piece that does not split a surrogate pair, which SQL text cannot store. */
function pieceEnd(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}

/** The members of a Worker's R2 bucket binding that are used. */
export interface LargeValueBucket {
  put(key: string, value: string): Promise<unknown>;
  get(key: string): Promise<{ text(): Promise<string> } | null>;
  delete(keys: string[]): Promise<void>;
}
