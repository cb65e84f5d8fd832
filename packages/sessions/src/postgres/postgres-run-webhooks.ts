import type { PutRunWebhookRequest, RunWebhook, RunWebhookChange } from '@eventloom/core';
import type { RunWebhookPage } from '../session-driver.ts';
import type { PostgresDatabase, RunStatement } from './postgres-database.ts';
import { isCurrentSql } from './schema-version.ts';
import { keyOf, THIS_SESSION } from './session-sql.ts';
import { type Statement, toStatement } from './statement.ts';
import type { Tables } from './tables.ts';

/** The row of a webhook. */
interface WebhookRow {
  readonly id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly invocation_id: string;
  readonly url: string;
  readonly attempts: number;
  readonly due_at: unknown;
}

/** The webhooks of runs. */
export class PostgresRunWebhooks {
  readonly #database: PostgresDatabase;
  readonly #run: RunStatement;
  readonly #statements: ReturnType<typeof webhookStatements>;

  constructor(database: PostgresDatabase) {
    this.#database = database;
    this.#run = database.run;
    this.#statements = webhookStatements(database.tables);
  }

  async put({ id, invocationId, url, ...key }: PutRunWebhookRequest): Promise<boolean> {
    const rows = await this.#run(this.#statements.put, [...keyOf(key), id, invocationId, url]);
    if (rows.length === 0) await this.#database.checkVersion();
    return rows.length > 0;
  }

  /** Stores a webhook beside the earlier ones of its run, in a transaction that has recorded the run. */
  async add(run: RunStatement, { id, invocationId, url, ...key }: PutRunWebhookRequest): Promise<void> {
    await run(this.#statements.add, [...keyOf(key), id, invocationId, url]);
  }

  async list({ appName, userId, includeOpen, limit }: RunWebhookPage): Promise<RunWebhook[]> {
    const values = [appName, userId ?? null, includeOpen, limit];
    const rows = (await this.#run(this.#statements.list, values)) as readonly WebhookRow[];
    return rows.map((row) => ({
      appName,
      userId: row.user_id,
      sessionId: row.session_id,
      id: row.id,
      invocationId: row.invocation_id,
      url: row.url,
      attempts: row.attempts,
      dueMs: Number(row.due_at),
    }));
  }

  async change(webhook: RunWebhook, change: RunWebhookChange | undefined): Promise<boolean> {
    const values = [...keyOf(webhook), webhook.id, webhook.attempts, webhook.dueMs];
    const rows = change
      ? await this.#run(this.#statements.change, [...values, change.attempts, change.dueMs])
      : await this.#run(this.#statements.remove, values);
    if (rows.length === 0) await this.#database.checkVersion();
    return rows.length > 0;
  }
}

function webhookStatements(tables: Tables) {
  const { sessions, runs, webhooks } = tables;
  const current = isCurrentSql(tables);
  /** Condition for an unchanged webhook. $4 is its id, $5 and $6 are its previous values. */
  const sameWebhook = `${THIS_SESSION} AND id = $4 AND attempts = $5 AND due_at = $6`;
  return {
    /**
     * Stores a webhook. $1 app, $2 user, $3 session, $4 id, $5 run, $6 URL. Returns no row if the session does not have
     * the run. The lock prevents the session from being deleted before the webhook is written.
     */
    put: toStatement(`
      WITH target AS (
        SELECT pk FROM ${sessions} WHERE ${THIS_SESSION} AND ${current} FOR NO KEY UPDATE
      ), replaced AS (
        DELETE FROM ${webhooks} USING target WHERE session = pk AND invocation_id = $5 AND url = $6 AND ${webhooks}.id <> $4
      )
      INSERT INTO ${webhooks} (id, session, app_name, user_id, session_id, invocation_id, url, attempts, due_at)
      SELECT $4, pk, $1, $2, $3, $5, $6, 0, 0 FROM target JOIN ${runs} AS run ON run.session = pk AND run.id = $5 AND run.invocation_id = $5
      ON CONFLICT (id) DO UPDATE SET attempts = 0, due_at = 0 RETURNING 1`),

    /** Stores a webhook of a run that the session has. Parameters of `put`. */
    add: toStatement(`
      INSERT INTO ${webhooks} (id, session, app_name, user_id, session_id, invocation_id, url, attempts, due_at)
      SELECT $4, pk, $1, $2, $3, $5, $6, 0, 0 FROM ${sessions} WHERE ${THIS_SESSION}
      ON CONFLICT (id) DO UPDATE SET attempts = 0, due_at = 0`),

    /** Lists webhooks. $1 app, $2 user or null, $3 true to include those of open runs, $4 limit. */
    list: toStatement(`
      SELECT webhook.id, webhook.user_id, webhook.session_id, invocation_id, url, webhook.attempts, due_at
      FROM ${webhooks} AS webhook JOIN ${sessions} AS session
        ON session.app_name = webhook.app_name AND session.user_id = webhook.user_id
        AND session.session_id = webhook.session_id AND session.pk = webhook.session
      WHERE webhook.app_name = $1 AND ($2::text IS NULL OR webhook.user_id = $2)
        AND ($3::boolean OR open_run IS DISTINCT FROM invocation_id)
      ORDER BY due_at, webhook.id LIMIT $4::bigint`),

    /** Changes a webhook. $7 attempts, $8 due time. */
    change: toStatement(
      `UPDATE ${webhooks} SET attempts = $7, due_at = $8 WHERE ${sameWebhook} AND ${current} RETURNING 1`,
    ),
    remove: toStatement(`DELETE FROM ${webhooks} WHERE ${sameWebhook} RETURNING 1`),
  } satisfies Readonly<Record<string, Statement>>;
}
