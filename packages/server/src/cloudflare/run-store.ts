import type { SessionKey } from '@eventloom/core';
import type { ObjectStorage } from './cloudflare-bindings.ts';

/** Pieces are added to a row up to this size: a row is paid for each time it is written, and is written as a whole. */
const ROW_CHARS = 64 * 1024;
/** A row takes 2 MB; a character at most three bytes. */
const MAX_TEXT_BYTES = 1_900_000;
/** What is kept of one run, and of all: the oldest go first. */
const MAX_RUN_CHARS = 4 * 1024 * 1024;
const MAX_RUNS = 200;

const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_kept_runs (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    invocation_id TEXT NOT NULL UNIQUE,
    ended_at REAL,
    is_lost INTEGER NOT NULL DEFAULT 0,
    failure TEXT,
    left_out INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX IF NOT EXISTS eventloom_kept_run_ends ON eventloom_kept_runs (ended_at);
  CREATE TABLE IF NOT EXISTS eventloom_kept_run_chunks (
    run INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    texts TEXT NOT NULL,
    PRIMARY KEY (run, first_seq)
  ) STRICT, WITHOUT ROWID;
`;

/** A run as it is stored. */
export interface KeptRun {
  readonly pk: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly isEnded: boolean;
  /** True when the object was evicted, or its machine was lost, while the run went on. */
  readonly isLost: boolean;
  readonly failureText: string | undefined;
}

/** Events of a run that lie in one row. */
export interface KeptChunk {
  readonly firstSeq: number;
  readonly texts: readonly string[];
}

/** The events of runs in the SQL storage of a Durable Object, many to a row, kept for a short while. Bounded for each run and in all. */
export class RunStore {
  readonly #storage: ObjectStorage;
  readonly #encoder = new TextEncoder();

  /** @param nowMs when the runs that went on are taken to have ended */
  constructor(storage: ObjectStorage, nowMs: number) {
    this.#storage = storage;
    this.#all(TABLES);
    this.#all('UPDATE eventloom_kept_runs SET ended_at = ?1, is_lost = 1 WHERE ended_at IS NULL', nowMs);
  }

  /** A run that begins, or goes on: what was kept under its name goes, because one that goes on tells all of it anew. */
  open({ appName, userId, sessionId }: SessionKey, invocationId: string): number {
    return this.#storage.transactionSync(() => {
      this.#delete('invocation_id = ?1', invocationId);
      const [row] = this.#all(
        'INSERT INTO eventloom_kept_runs (app_name, user_id, session_id, invocation_id) VALUES (?1, ?2, ?3, ?4) RETURNING pk',
        appName,
        userId,
        sessionId,
        invocationId,
      );
      this.#delete(
        `ended_at IS NOT NULL AND pk <= (SELECT pk FROM eventloom_kept_runs ORDER BY pk DESC LIMIT 1 OFFSET ${MAX_RUNS})`,
      );
      return Number(row?.['pk']);
    });
  }

  /** Stores the next events of a run. One that no row takes is left out, with all before it. */
  append(pk: number, firstSeq: number, texts: readonly string[]): void {
    this.#storage.transactionSync(() => {
      let seq = firstSeq;
      let chunk: string[] = [];
      let chars = 0;
      const write = (): void => {
        if (chunk.length > 0) this.#write(pk, seq - chunk.length, seq - 1, chunk.join('\n'));
        chunk = [];
        chars = 0;
      };
      for (const text of texts) {
        if (chars + text.length > ROW_CHARS) write();
        if (text.length * 3 > MAX_TEXT_BYTES && this.#encoder.encode(text).length > MAX_TEXT_BYTES) {
          this.#all('DELETE FROM eventloom_kept_run_chunks WHERE run = CAST(?1 AS INTEGER)', pk);
          const leaveOut = 'UPDATE eventloom_kept_runs SET left_out = CAST(?2 AS INTEGER) WHERE pk = CAST(?1 AS INTEGER)';
          this.#all(leaveOut, pk, seq);
        } else {
          chunk.push(text);
          chars += text.length;
        }
        seq += 1;
      }
      write();
    });
  }

  end(pk: number, nowMs: number, failureText: string | undefined): void {
    const query = 'UPDATE eventloom_kept_runs SET ended_at = ?2, failure = ?3 WHERE pk = CAST(?1 AS INTEGER)';
    this.#all(query, pk, nowMs, failureText ?? null);
  }

  find({ appName, userId, sessionId }: SessionKey, invocationId: string): KeptRun | undefined {
    const [row] = this.#all(
      `SELECT run.pk, ended_at, is_lost, failure, coalesce(min(first_seq), left_out + 1) AS first_seq,
         coalesce(max(last_seq), left_out) AS last_seq
       FROM eventloom_kept_runs AS run LEFT JOIN eventloom_kept_run_chunks ON run = run.pk
       WHERE invocation_id = ?1 AND app_name = ?2 AND user_id = ?3 AND session_id = ?4 GROUP BY run.pk`,
      invocationId,
      appName,
      userId,
      sessionId,
    );
    if (!row) return undefined;
    return {
      pk: Number(row['pk']),
      firstSeq: Number(row['first_seq']),
      lastSeq: Number(row['last_seq']),
      isEnded: row['ended_at'] !== null,
      isLost: row['is_lost'] === 1,
      failureText: typeof row['failure'] === 'string' ? row['failure'] : undefined,
    };
  }

  /** The rows behind an event, in order. The first may hold events before it. */
  *chunks(pk: number, afterSeq: number): Generator<KeptChunk> {
    for (let last = afterSeq; ;) {
      const [row] = this.#all(
        `SELECT first_seq, last_seq, texts FROM eventloom_kept_run_chunks
         WHERE run = CAST(?1 AS INTEGER) AND last_seq > CAST(?2 AS INTEGER) ORDER BY first_seq LIMIT 1`,
        pk,
        last,
      );
      if (!row) return;
      last = Number(row['last_seq']);
      yield { firstSeq: Number(row['first_seq']), texts: String(row['texts']).split('\n') };
    }
  }

  forget(invocationId: string): void {
    this.#storage.transactionSync(() => this.#delete('invocation_id = ?1', invocationId));
  }

  /** Forgets the runs of a session that have ended. */
  forgetSession({ appName, userId, sessionId }: SessionKey): void {
    this.#storage.transactionSync(() =>
      this.#delete(
        'app_name = ?1 AND user_id = ?2 AND session_id = ?3 AND ended_at IS NOT NULL',
        appName,
        userId,
        sessionId,
      ),
    );
  }

  /** Forgets the runs that ended at this time or before. */
  sweep(untilMs: number): void {
    this.#storage.transactionSync(() => this.#delete('ended_at <= ?1', untilMs));
  }

  /** When the run ended that ended first; undefined when none has. */
  oldestEndMs(): number | undefined {
    const [row] = this.#all('SELECT min(ended_at) AS ended_at FROM eventloom_kept_runs');
    return typeof row?.['ended_at'] === 'number' ? row['ended_at'] : undefined;
  }

  /** Adds events to the newest row of the run, or begins one when it is full. */
  #write(pk: number, firstSeq: number, lastSeq: number, texts: string): void {
    const extended = this.#all(
      `UPDATE eventloom_kept_run_chunks
       SET last_seq = CAST(?3 AS INTEGER), chars = chars + CAST(?4 AS INTEGER), texts = texts || char(10) || ?5
       WHERE run = CAST(?1 AS INTEGER)
         AND first_seq = (SELECT max(first_seq) FROM eventloom_kept_run_chunks WHERE run = CAST(?1 AS INTEGER))
         AND last_seq = CAST(?2 AS INTEGER) - 1 AND chars + CAST(?4 AS INTEGER) <= ${ROW_CHARS} RETURNING 1`,
      pk,
      firstSeq,
      lastSeq,
      texts.length,
      texts,
    );
    if (extended.length > 0) return;
    this.#all(
      `INSERT INTO eventloom_kept_run_chunks
       VALUES (CAST(?1 AS INTEGER), CAST(?2 AS INTEGER), CAST(?3 AS INTEGER), CAST(?4 AS INTEGER), ?5)`,
      pk,
      firstSeq,
      lastSeq,
      texts.length,
      texts,
    );
    this.#all(
      `DELETE FROM eventloom_kept_run_chunks WHERE run = CAST(?1 AS INTEGER) AND first_seq IN (
         SELECT first_seq FROM (
           SELECT first_seq, sum(chars) OVER (ORDER BY first_seq DESC) AS total, row_number() OVER (ORDER BY first_seq DESC) AS place
           FROM eventloom_kept_run_chunks WHERE run = CAST(?1 AS INTEGER)
         ) WHERE total > ${MAX_RUN_CHARS} AND place > 1)`,
      pk,
    );
  }

  #delete(where: string, ...bindings: (number | string)[]): void {
    const runs = `SELECT pk FROM eventloom_kept_runs WHERE ${where}`;
    this.#all(`DELETE FROM eventloom_kept_run_chunks WHERE run IN (${runs})`, ...bindings);
    this.#all(`DELETE FROM eventloom_kept_runs WHERE ${where}`, ...bindings);
  }

  #all(query: string, ...bindings: (null | number | string)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray();
  }
}
