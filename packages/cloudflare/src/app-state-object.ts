import { InvalidRequestError, systemPlatform } from '@eventloom/core';
import { errorResponse } from '@eventloom/server/internal';
import { type AppStateResponse, type AppStateExchange, isAppStateExchange } from './app-state-exchange.ts';
import type { AppStateChange } from '@eventloom/sessions/durable-object';
import type { ObjectState, ObjectStorage } from './cloudflare-bindings.ts';

/** Limits of one response: characters, and number of changes. */
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
 * The Durable Object that holds the state all users of an app share. In one request, a user's object delivers its own
 * changes and receives those of others. A change is applied once however often it is delivered: the last `seq` of each
 * sender is stored. Of two changes to a key the later write wins, independent of the order in which they are delivered.
 * A removed key keeps its row, so that every object receives the removal.
 */
export class AppStateObject {
  readonly #storage: ObjectStorage;

  constructor({ storage }: ObjectState) {
    this.#storage = storage;
    this.#all(TABLES);
  }

  /** Reached only through the binding `EVENTLOOM_APPS`, which only user objects call. */
  async fetch(request: Request): Promise<Response> {
    const exchange: unknown = await request.json();
    if (!isAppStateExchange(exchange))
      return errorResponse(new InvalidRequestError('body: expected an exchange of app state'));
    return Response.json(this.#storage.transactionSync(() => this.#exchange(exchange)));
  }

  #exchange({ sender, knownVersion, pending }: AppStateExchange): AppStateResponse {
    this.#take(sender, pending);
    const changes: AppStateChange[] = [];
    let version = knownVersion;
    for (let chars = 0; chars < PAGE_CHARS && changes.length < PAGE_ROWS;) {
      // One row at a time: a value takes up to 2 MB, and an object has 128 MB of memory.
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
      // A sender whose clock is ahead must not block later writes of others.
      this.#write(key, value, Math.min(writtenMs, nowMs), sender);
      lastSeq = seq;
    }
    if (lastSeq === before) return;
    this.#all('INSERT OR REPLACE INTO eventloom_state_senders VALUES (?1, CAST(?2 AS INTEGER))', sender, lastSeq);
  }

  #write(key: string, value: string | null, writtenMs: number, sender: string): void {
    const next = '(SELECT coalesce(max(version), 0) + 1 FROM eventloom_shared_state)';
    // The newer value gets a new version, so that the sender receives it: it skipped that change while its own was pending.
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
