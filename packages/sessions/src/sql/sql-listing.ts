import type { SessionPage } from '../session-driver.ts';
import type { SqlStatement, SqlValue } from './sql-connection.ts';
import type { ListedRow, SqlStatements } from './statements.ts';

/** Maximum time by which a session's last update may be later than in the index of the listing, in milliseconds. */
const LAG_MS = 60_000;
/** More than what is lost when such times are added and subtracted. */
const ROUNDING_MS = 1;

/**
 * Pages of sessions by their last update, which is when the last event was appended. An append writes the event and nothing else,
 * so the index has a time that lags behind, less than `LAG_MS`: only an append that comes later brings it up to date. A page is
 * looked for among the sessions that may belong to it by the index, and put in order by the events.
 */
export class SqlListing {
  readonly #sql: SqlStatements;

  constructor(sql: SqlStatements) {
    this.#sql = sql;
  }

  /** False when an append at this time has to bring the index up to date. */
  isCurrent(listedAt: number, nowMs: number): boolean {
    return listedAt <= nowMs && nowMs < listedAt + LAG_MS;
  }

  /** Brings the index up to date. Called inside the transaction of the append. */
  update(pk: number, nowMs: number): void {
    this.#sql.setListedAt.run(pk, nowMs);
  }

  /** Called inside a transaction. */
  readPage({ appName, userId, limit, after }: SessionPage): ListedRow[] {
    const user = userId === undefined ? [] : [userId];
    const { boundary, page } = this.#statements(userId);
    // By the index alone, these come after the position; when there are enough of them, none older than the last is in the page.
    const behind = after ? after.updatedAtMs - LAG_MS - ROUNDING_MS : Infinity;
    const oldest = boundary.get(appName, behind, limit - 1, ...user)?.['listed_at'];
    const from = typeof oldest === 'number' ? oldest - LAG_MS - ROUNDING_MS : -Infinity;
    const position: SqlValue[] = after ? [after.updatedAtMs, after.sessionId, after.userId] : [Infinity, '', ''];
    return page.all(appName, from, ...position, limit, ...user) as unknown as ListedRow[];
  }

  #statements(userId: string | undefined): { readonly boundary: SqlStatement; readonly page: SqlStatement } {
    return userId === undefined
      ? { boundary: this.#sql.boundaryOfApp, page: this.#sql.sessionsOfApp }
      : { boundary: this.#sql.boundaryOfUser, page: this.#sql.sessionsOfUser };
  }
}
