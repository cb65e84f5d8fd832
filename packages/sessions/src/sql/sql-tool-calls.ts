import type { SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import { withinLimit } from './size-limit.ts';
import type { SqlRow } from './sql-connection.ts';
import type { Statements } from './statements.ts';

/** The response and the actions of a call, null for none. */
type OutcomeJson = readonly [response: string | null, actions: string | null];

/** The ledger of tool calls. */
export class SqlToolCalls {
  readonly #sql: Statements;
  readonly #maxBytes: number;

  constructor(sql: Statements, maxBytes: number) {
    this.#sql = sql;
    this.#maxBytes = maxBytes;
  }

  /** What the tool answered, and what it changed, as they are stored. @throws SizeLimitError */
  toJson({ callId, response, actions }: ToolLedgerEntry): OutcomeJson {
    const toText = (value: object | undefined, what: string): string | null =>
      value ? withinLimit(JSON.stringify(value), this.#maxBytes, what, callId) : null;
    return [toText(response, 'the response to tool call'), toText(actions, 'the actions of tool call')];
  }

  /** Called inside a transaction. False when the lease is not live. */
  record({ appName, userId, sessionId, epoch }: SessionLease, entry: ToolLedgerEntry, outcome: OutcomeJson): boolean {
    const { invocationId, callId, name, status } = entry;
    const owner = [appName, userId, sessionId, epoch] as const;
    const { changes } = this.#sql.recordToolCall.run(...owner, invocationId, callId, name, status, ...outcome);
    return changes === 1 || this.#sql.liveLease.get(...owner) !== undefined;
  }

  list({ appName, userId, sessionId }: SessionKey, invocationId: string): ToolLedgerEntry[] {
    return this.#sql.toolCalls.all(appName, userId, sessionId, invocationId).map(toEntry);
  }

  /** All of a session's. */
  listAll(pk: number): ToolLedgerEntry[] {
    return this.#sql.allToolCalls.all(pk).map(toEntry);
  }

  /** Writes the calls of a session that has none. Called inside a transaction. @throws SizeLimitError */
  writeAll(pk: number, entries: readonly ToolLedgerEntry[]): void {
    for (const [index, entry] of entries.entries()) {
      const { invocationId, callId, name, status } = entry;
      this.#sql.insertToolCall.run(pk, invocationId, callId, index + 1, name, status, ...this.toJson(entry));
    }
  }
}

function toEntry(row: SqlRow): ToolLedgerEntry {
  const { invocation_id: invocationId, call_id: callId, name, status, response, actions } = row;
  return {
    invocationId: String(invocationId),
    callId: String(callId),
    name: String(name),
    status: status === 'finished' ? 'finished' : 'started',
    ...(typeof response === 'string' ? { response: JSON.parse(response) } : {}),
    ...(typeof actions === 'string' ? { actions: JSON.parse(actions) } : {}),
  };
}
