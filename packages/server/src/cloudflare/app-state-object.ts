import type { AppStateAnswer, AppStateExchange } from './app-state-exchange.ts';
import type { ObjectState, ObjectStorage } from './cloudflare-bindings.ts';

/** Characters of changes in one answer, and how many of them at most. */
const PAGE_CHARS = 1_000_000;
const PAGE_ROWS = 500;

const TABLES = `
  CREATE TABLE IF NOT EXISTS eventloom_shared_state (
    key TEXT PRIMARY KEY,
    value TEXT,
    version INTEGER NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE IF NOT EXISTS eventloom_state_senders (
    sender TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`;

/**
 * The state that all users of an app share. Their objects deliver what they wrote and learn what others wrote, in one request. A change
 * counts once however often it is delivered: of each sender the last number is kept. A removed key keeps its row, so that
 * every object learns of it.
 */
export class AppStateObject {
  readonly #storage: ObjectStorage;

  constructor({ storage }: ObjectState) {
    this.#storage = storage;
    this.#all(TABLES);
  }

  /** Only other objects have the binding that this answers. */
  async fetch(request: Request): Promise<Response> {
    const exchange = (await request.json()) as AppStateExchange;
    return Response.json(this.#storage.transactionSync(() => this.#exchange(exchange)));
  }

  #exchange({ sender, knownVersion, pending }: AppStateExchange): AppStateAnswer {
    this.#take(sender, pending);
    const rows = this.#all(
      `SELECT key, value, version FROM eventloom_shared_state WHERE version > CAST(?1 AS INTEGER) ORDER BY version LIMIT ${PAGE_ROWS + 1}`,
      knownVersion,
    );
    const changes: { key: string; value: string | null }[] = [];
    let version = knownVersion;
    let chars = 0;
    for (const row of rows) {
      const value = typeof row['value'] === 'string' ? row['value'] : null;
      if (changes.length === PAGE_ROWS || (chars > 0 && chars + (value?.length ?? 0) > PAGE_CHARS)) break;
      changes.push({ key: String(row['key']), value });
      chars += value?.length ?? 0;
      version = Number(row['version']);
    }
    return { changes, version, hasMore: changes.length < rows.length };
  }

  #take(sender: string, pending: AppStateExchange['pending']): void {
    const [known] = this.#all('SELECT seq FROM eventloom_state_senders WHERE sender = ?1', sender);
    let lastSeq = Number(known?.['seq'] ?? 0);
    const before = lastSeq;
    for (const { seq, key, value } of pending) {
      if (seq <= lastSeq) continue;
      this.#all(
        `INSERT OR REPLACE INTO eventloom_shared_state
         VALUES (?1, ?2, (SELECT coalesce(max(version), 0) + 1 FROM eventloom_shared_state))`,
        key,
        value,
      );
      lastSeq = seq;
    }
    if (lastSeq === before) return;
    this.#all('INSERT OR REPLACE INTO eventloom_state_senders VALUES (?1, CAST(?2 AS INTEGER))', sender, lastSeq);
  }

  #all(query: string, ...bindings: (null | number | string)[]): Record<string, unknown>[] {
    return this.#storage.sql.exec(query, ...bindings).toArray();
  }
}
