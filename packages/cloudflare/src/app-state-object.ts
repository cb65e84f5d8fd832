import { InvalidRequestError, systemPlatform } from '@eventloom/core';
import { errorResponse } from '@eventloom/server/internal';
import { type AppStateAnswer, type AppStateExchange, isAppStateExchange } from './app-state-exchange.ts';
import type { AppStateChange } from '@eventloom/sessions/durable-object';
import type { ObjectState, ObjectStorage } from './cloudflare-bindings.ts';

/** Characters of changes in one answer, and how many of them at most. */
const PAGE_CHARS = 1_000_000;
const PAGE_ROWS = 500;

const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_shared_state (
    key TEXT PRIMARY KEY,
    value TEXT,
    version INTEGER NOT NULL UNIQUE,
    written_ms INTEGER NOT NULL,
    sender TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS eventloom_state_senders (
    sender TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/**
 * The state that all users of an app share. Their objects deliver what they wrote and learn what others wrote, in one request. A change
 * counts once however often it is delivered: of each sender the last number is kept. Of two changes of a key the one that was made
 * later counts, whichever is delivered first. A removed key keeps its row, so that every object learns of it.
 */
export class AppStateObject {
  readonly #storage: ObjectStorage;

  constructor({ storage }: ObjectState) {
    this.#storage = storage;
    this.#all(TABLES);
  }

  /** Only other objects have the binding that this answers. */
  async fetch(request: Request): Promise<Response> {
    const exchange: unknown = await request.json();
    if (!isAppStateExchange(exchange))
      return errorResponse(new InvalidRequestError('body: is no exchange of app state'));
    return Response.json(this.#storage.transactionSync(() => this.#exchange(exchange)));
  }

  #exchange({ sender, knownVersion, pending }: AppStateExchange): AppStateAnswer {
    this.#take(sender, pending);
    const changes: AppStateChange[] = [];
    let version = knownVersion;
    for (let chars = 0; chars < PAGE_CHARS && changes.length < PAGE_ROWS;) {
      // One by one: a value takes up to two megabytes of the 128 that an object has.
      const [row] = this.#all(
        'SELECT key, value, version FROM eventloom_shared_state WHERE version > CAST(?1 AS INTEGER) ORDER BY version LIMIT 1',
        version,
      );
      if (!row) return { changes, version, hasMore: false };
      const change = { key: String(row['key']), value: typeof row['value'] === 'string' ? row['value'] : null };
      changes.push(change);
      chars += change.key.length + (change.value?.length ?? 0);
      version = Number(row['version']);
    }
    return { changes, version, hasMore: true };
  }

  #take(sender: string, pending: AppStateExchange['pending']): void {
    const [known] = this.#all('SELECT seq FROM eventloom_state_senders WHERE sender = ?1', sender);
    let lastSeq = Number(known?.['seq'] ?? 0);
    const before = lastSeq;
    const nowMs = systemPlatform.now();
    for (const { seq, key, value, writtenMs } of pending) {
      if (seq <= lastSeq) continue;
      // A clock that is ahead must not keep others from writing.
      this.#write(key, value, Math.min(writtenMs, nowMs), sender);
      lastSeq = seq;
    }
    if (lastSeq === before) return;
    this.#all('INSERT OR REPLACE INTO eventloom_state_senders VALUES (?1, CAST(?2 AS INTEGER))', sender, lastSeq);
  }

  #write(key: string, value: string | null, writtenMs: number, sender: string): void {
    const next = '(SELECT coalesce(max(version), 0) + 1 FROM eventloom_shared_state)';
    // Told anew, because the sender may have passed the newer one by: its own was waiting then.
    const newer = this.#all(
      `UPDATE eventloom_shared_state SET version = ${next}
       WHERE key = ?1 AND (written_ms, sender) > (CAST(?2 AS INTEGER), ?3) RETURNING 1`,
      key,
      writtenMs,
      sender,
    );
    if (newer.length > 0) return;
    const query = `INSERT OR REPLACE INTO eventloom_shared_state VALUES (?1, ?2, ${next}, CAST(?3 AS INTEGER), ?4)`;
    this.#all(query, key, value, writtenMs, sender);
  }

  #all(query: string, ...bindings: (null | number | string)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray();
  }
}
