import type { ObjectStorage } from './cloudflare-bindings.ts';

/** Pieces are added to a row up to this size: a row is paid for each time it is written, and is written as a whole. */
const ROW_CHARS = 64 * 1024;
/** A row takes 2 MB; a character at most three bytes. */
const PART_CHARS = 512 * 1024;
/** What is kept of one run, beside its largest event: the oldest go first. */
const MAX_RUN_CHARS = 16 * 1024 * 1024;

const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_kept_run_chunks (
    run INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    part INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    texts TEXT NOT NULL,
    PRIMARY KEY (run, first_seq, part)
  ) STRICT;
`;

/** Events of a run that are stored together. */
export interface KeptChunk {
  readonly firstSeq: number;
  readonly texts: readonly string[];
}

/** The events of runs, many to a row. To be called inside a transaction. */
export class RunChunks {
  readonly #storage: ObjectStorage;

  constructor(storage: ObjectStorage) {
    this.#storage = storage;
    this.#all(TABLES);
  }

  /**
   * Stores the next events of a run. The oldest of what is more than is kept go.
   * @returns the number of the newest event that went; undefined when none did
   */
  append(pk: number, firstSeq: number, texts: readonly string[]): number | undefined {
    let begin = 0;
    let chars = 0;
    let hasBegun = false;
    for (const [index, { length }] of texts.entries()) {
      if (chars > 0 && chars + length > ROW_CHARS) {
        hasBegun = this.#add(pk, firstSeq + begin, texts.slice(begin, index)) || hasBegun;
        begin = index;
        chars = 0;
      }
      chars += length;
    }
    hasBegun = this.#add(pk, firstSeq + begin, texts.slice(begin)) || hasBegun;
    // Looked at with each new row, storing a piece costs the same however long the run is.
    return hasBegun ? this.#trim(pk) : undefined;
  }

  /** Puts the first events of a chunk in the place of the chunk and of all behind it. */
  cutOff(pk: number, { firstSeq, texts }: KeptChunk): void {
    this.#delete('first_seq >= ?2', pk, firstSeq);
    this.#write(pk, firstSeq, texts);
  }

  /** What is stored behind an event and before another, in order. The first may hold events before it. */
  *read(pk: number, afterSeq: number, beforeSeq = Number.MAX_SAFE_INTEGER): Generator<KeptChunk> {
    for (let last = afterSeq; ;) {
      const rows = this.#all(
        `SELECT first_seq, last_seq, texts FROM eventloom_kept_run_chunks
         WHERE run = ?1 AND first_seq = (
           SELECT min(first_seq) FROM eventloom_kept_run_chunks
           WHERE run = ?1 AND last_seq > ?2 AND first_seq < ?3)
         ORDER BY part`,
        pk,
        last,
        beforeSeq,
      );
      const [row] = rows;
      if (!row) return;
      last = Number(row['last_seq']);
      const texts = rows.map((part) => String(part['texts'])).join('');
      yield { firstSeq: Number(row['first_seq']), texts: texts.split('\n') };
    }
  }

  /** Adds events to the newest row of the run. @returns true when it is full, and another one was begun */
  #add(pk: number, firstSeq: number, texts: readonly string[]): boolean {
    const text = texts.join('\n');
    const extended = text.length <= ROW_CHARS && this.#extend(pk, firstSeq, firstSeq + texts.length - 1, text);
    if (!extended) this.#write(pk, firstSeq, texts);
    return !extended;
  }

  #extend(pk: number, firstSeq: number, lastSeq: number, text: string): boolean {
    const extended = this.#all(
      `UPDATE eventloom_kept_run_chunks
       SET last_seq = ?3, chars = chars + ?4, texts = texts || char(10) || ?5
       WHERE run = ?1 AND part = 0
         AND first_seq = (SELECT max(first_seq) FROM eventloom_kept_run_chunks WHERE run = ?1)
         AND last_seq = ?2 - 1 AND chars + ?4 <= ${ROW_CHARS} RETURNING 1`,
      pk,
      firstSeq,
      lastSeq,
      text.length,
      text,
    );
    return extended.length > 0;
  }

  /** Deletes the oldest of what is more than is kept. @returns the number of the newest event that went */
  #trim(pk: number): number | undefined {
    const [row] = this.#all(
      `SELECT last_seq FROM (
         SELECT last_seq, sum(sum(chars)) OVER newer - max(sum(chars)) OVER newer AS total
         FROM eventloom_kept_run_chunks WHERE run = ?1 GROUP BY first_seq
         WINDOW newer AS (ORDER BY first_seq DESC)
       ) WHERE total > ${MAX_RUN_CHARS} ORDER BY last_seq DESC LIMIT 1`,
      pk,
    );
    if (!row) return undefined;
    const goneSeq = Number(row['last_seq']);
    this.#delete('last_seq <= ?2', pk, goneSeq);
    return goneSeq;
  }

  /** An event that no row takes lies in several. */
  #write(pk: number, firstSeq: number, texts: readonly string[]): void {
    const text = texts.join('\n');
    for (let part = 0, start = 0; start < text.length; part++) {
      const end = wholeCharacters(text, start + PART_CHARS);
      const piece = text.slice(start, end);
      start = end;
      this.#all(
        'INSERT INTO eventloom_kept_run_chunks VALUES (?1, ?2, ?3, ?4, ?5, ?6)',
        pk,
        firstSeq,
        part,
        firstSeq + texts.length - 1,
        piece.length,
        piece,
      );
    }
  }

  #delete(where: string, pk: number, seq: number): void {
    this.#all(`DELETE FROM eventloom_kept_run_chunks WHERE run = ?1 AND ${where}`, pk, seq);
  }

  #all(query: string, ...bindings: (number | string)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray();
  }
}

/** Half of a character is no text. */
function wholeCharacters(text: string, end: number): number {
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}
