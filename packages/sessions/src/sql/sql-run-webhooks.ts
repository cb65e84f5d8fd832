import type { PutRunWebhookRequest, RunWebhook, RunWebhookChange } from '@eventloom/core';
import type { RunWebhookPage } from '../session-driver.ts';
import type { SqlStatements } from './statements.ts';

/** The webhooks of runs. */
export class SqlRunWebhooks {
  readonly #sql: SqlStatements;

  constructor(sql: SqlStatements) {
    this.#sql = sql;
  }

  /** Stores or replaces a webhook. Called inside a transaction. */
  put(webhook: PutRunWebhookRequest): boolean {
    this.#sql.replaceWebhook.run(...valuesOf(webhook));
    return this.add(webhook);
  }

  /** Stores a webhook beside the earlier ones of its run. Called inside a transaction. */
  add(webhook: PutRunWebhookRequest): boolean {
    return this.#sql.putWebhook.run(...valuesOf(webhook)).changes > 0;
  }

  list({ appName, userId, includeOpen, limit }: RunWebhookPage): RunWebhook[] {
    return this.#sql.webhooks.all(appName, userId ?? null, includeOpen ? 1 : 0, limit).map((row) => ({
      appName,
      userId: String(row['user_id']),
      sessionId: String(row['session_id']),
      id: String(row['id']),
      invocationId: String(row['invocation_id']),
      url: String(row['url']),
      attempts: Number(row['attempts']),
      dueMs: Number(row['due_at']),
    }));
  }

  change({ appName, userId, sessionId, id, ...before }: RunWebhook, change: RunWebhookChange | undefined): boolean {
    const values = [appName, userId, sessionId, id, before.attempts, before.dueMs] as const;
    const { changes } = change
      ? this.#sql.changeWebhook.run(...values, change.attempts, change.dueMs)
      : this.#sql.removeWebhook.run(...values);
    return changes > 0;
  }
}

function valuesOf({ appName, userId, sessionId, id, invocationId, url }: PutRunWebhookRequest) {
  return [appName, userId, sessionId, id, invocationId, url] as const;
}
