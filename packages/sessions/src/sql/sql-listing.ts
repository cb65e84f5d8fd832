import type { SessionPage } from '../session-driver.ts';
import type { SqlStatement, SqlValue } from './sql-connection.ts';
import type { ListedRow, SqlStatements } from './statements.ts';

/** Maximum time by which a session's last update may be later than in the index of the listing, in milliseconds. */
const LAG_MS = 60_000;
/** A time longer than the rounding error of adding and subtracting such times, in milliseconds. */
const ROUNDING_MS = 1;

/**
 * Pages of sessions, ordered by the time of their last event. An append writes only the event, so the index may lag
 * behind by less than `LAG_MS`: only a later append updates it. A page is selected from the sessions that may belong to
 * it by the index, and ordered by their last events.
 */
export class SqlListing {
  readonly #sql: SqlStatements;

  constructor(sql: SqlStatements) {
    this.#sql = sql;
  }

  /** Returns false if an append at this time has to update the index. */
  isCurrent(listedAt: number, nowMs: number): boolean {
    return listedAt <= nowMs && nowMs < listedAt + LAG_MS;
  }

  /** Updates the index. Called inside the transaction of the append. */
  update(pk: number, nowMs: number): void {
    this.#sql.setListedAt.run(pk, nowMs);
  }

  /** Reads one page of sessions. Called inside a transaction. */
  readPage({ appName, userId, limit, after }: SessionPage): ListedRow[] {
    const user = userId === undefined ? [] : [userId];
    const { boundary, page } = this.#statements(userId);
    // By the index alone, these sessions come after the position. If there are enough of them, no older session is on
    // the page.
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
