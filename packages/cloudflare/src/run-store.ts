import type { SessionKey } from '@eventloom/core';
import type { ObjectStorage } from './cloudflare-bindings.ts';
import { type KeptChunk, RunChunks } from './run-chunks.ts';

/** Maximum number of stored runs; the oldest are deleted first. */
const MAX_RUNS = 200;

const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_kept_runs (
    pk INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name TEXT NOT NULL,
    user_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    invocation_id TEXT NOT NULL UNIQUE,
    begin_seq INTEGER NOT NULL,
    gone_seq INTEGER NOT NULL DEFAULT 0,
    ended_at REAL,
    is_lost INTEGER NOT NULL DEFAULT 0,
    failure TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS eventloom_kept_run_ends ON eventloom_kept_runs (ended_at);
`;

/** A stored run. */
export interface KeptRun {
  readonly pk: number;
  /** The number of the first stored event of the last attempt; `lastSeq + 1` when it has none. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The number of the first event of the last attempt. */
  readonly beginSeq: number;
  /** Events up to this number were deleted because the run exceeded the size limit. */
  readonly goneSeq: number;
  readonly isEnded: boolean;
  /** True when the object was evicted, or its machine failed, while the run was active. */
  readonly isLost: boolean;
  readonly failureText: string | undefined;
}

/**
 * Stores the events of runs in the SQL storage of a Durable Object for a short time, many events to a row, bounded per run and in total.
 * The events of one attempt have consecutive numbers; between two attempts there is a gap.
 */
export class RunStore {
  readonly #storage: ObjectStorage;
  readonly #chunks: RunChunks;

  /** @param nowMs the end time given to runs that were active when the object was evicted */
  constructor(storage: ObjectStorage, nowMs: number) {
    this.#storage = storage;
    this.#chunks = new RunChunks(storage);
    this.#all(TABLES);
    this.#all('UPDATE eventloom_kept_runs SET ended_at = ?1, is_lost = 1 WHERE ended_at IS NULL', nowMs);
  }

  /** Adds a run whose events are numbered from `beginSeq`. Replaces a stored run with the same invocation id. @returns its key */
  open({ appName, userId, sessionId }: SessionKey, invocationId: string, beginSeq: number): number {
    return this.#storage.transactionSync(() => {
      this.#delete('invocation_id = ?1', invocationId);
      const [row] = this.#all(
        `INSERT INTO eventloom_kept_runs (app_name, user_id, session_id, invocation_id, begin_seq)
         VALUES (?1, ?2, ?3, ?4, ?5) RETURNING pk`,
        appName,
        userId,
        sessionId,
        invocationId,
        beginSeq,
      );
      this.#delete(
        `ended_at IS NOT NULL AND pk <= (SELECT pk FROM eventloom_kept_runs ORDER BY pk DESC LIMIT 1 OFFSET ${MAX_RUNS})`,
      );
      return Number(row?.['pk']);
    });
  }

  /**
   * Continues a stored run with events from `beginSeq`. Keeps the committed events, and deletes the partial events behind the last of them.
   * @returns the ids of the events that are kept
   */
  reopen(pk: number, beginSeq: number): ReadonlySet<string> {
    return this.#storage.transactionSync(() => {
      const ids = new Set<string>();
      let committed: KeptChunk = { firstSeq: 0, texts: [] };
      for (const chunk of this.#chunks.read(pk, 0)) {
        for (const [index, text] of chunk.texts.entries()) {
          const { id, partial } = JSON.parse(text) as { readonly id: string; readonly partial?: boolean };
          if (partial === true) continue;
          ids.add(id);
          committed = { firstSeq: chunk.firstSeq, texts: chunk.texts.slice(0, index + 1) };
        }
      }
      this.#chunks.cutOff(pk, committed);
      this.#all(
        'UPDATE eventloom_kept_runs SET begin_seq = ?2, ended_at = NULL, is_lost = 0, failure = NULL WHERE pk = ?1',
        pk,
        beginSeq,
      );
      return ids;
    });
  }

  /** Stores the next events of a run. Deletes its oldest events beyond the size limit. */
  append(pk: number, firstSeq: number, texts: readonly string[]): void {
    this.#storage.transactionSync(() => {
      const goneSeq = this.#chunks.append(pk, firstSeq, texts);
      if (goneSeq === undefined) return;
      const query = 'UPDATE eventloom_kept_runs SET gone_seq = ?2 WHERE pk = ?1';
      this.#all(query, pk, goneSeq);
    });
  }

  /** Yields the chunks with events after `afterSeq` and before `beforeSeq`, in order. The first may start before that range. */
  chunks(pk: number, afterSeq: number, beforeSeq?: number): Generator<KeptChunk> {
    return this.#chunks.read(pk, afterSeq, beforeSeq);
  }

  end(pk: number, nowMs: number, failureText: string | undefined): void {
    const query = 'UPDATE eventloom_kept_runs SET ended_at = ?2, failure = ?3 WHERE pk = ?1';
    this.#all(query, pk, nowMs, failureText ?? null);
  }

  find({ appName, userId, sessionId }: SessionKey, invocationId: string): KeptRun | undefined {
    const [row] = this.#all(
      `SELECT run.pk, begin_seq, gone_seq, ended_at, is_lost, failure, coalesce(min(first_seq), begin_seq) AS first_seq,
         coalesce(max(last_seq), begin_seq - 1) AS last_seq
       FROM eventloom_kept_runs AS run LEFT JOIN eventloom_kept_run_chunks ON run = run.pk AND first_seq >= begin_seq
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
      beginSeq: Number(row['begin_seq']),
      goneSeq: Number(row['gone_seq']),
      isEnded: row['ended_at'] !== null,
      isLost: row['is_lost'] === 1,
      failureText: typeof row['failure'] === 'string' ? row['failure'] : undefined,
    };
  }

  forget(invocationId: string): void {
    this.#storage.transactionSync(() => this.#delete('invocation_id = ?1', invocationId));
  }

  /** Deletes the ended runs of a session. */
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

  /** Deletes the runs that ended at `untilMs` or before. */
  sweep(untilMs: number): void {
    this.#storage.transactionSync(() => this.#delete('ended_at <= ?1', untilMs));
  }

  /** The earliest end time of a stored run; undefined when none has ended. */
  oldestEndMs(): number | undefined {
    const [row] = this.#all('SELECT min(ended_at) AS ended_at FROM eventloom_kept_runs');
    return typeof row?.['ended_at'] === 'number' ? row['ended_at'] : undefined;
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
