import type { SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import { withinLimit } from './size-limit.ts';
import type { SqlRow } from './sql-connection.ts';
import type { Statements } from './statements.ts';

/** The ledger of tool calls. */
export class SqlToolCalls {
  readonly #sql: Statements;
  readonly #maxBytes: number;

  constructor(sql: Statements, maxBytes: number) {
    this.#sql = sql;
    this.#maxBytes = maxBytes;
  }

  /** What the tool answered, as it is stored. @throws SizeLimitError */
  toJson({ callId, response }: ToolLedgerEntry): string | null {
    return response ? withinLimit(JSON.stringify(response), this.#maxBytes, 'the response to tool call', callId) : null;
  }

  /** Called inside a transaction. False when the lease is not live. */
  record(
    { appName, userId, sessionId, epoch }: SessionLease,
    entry: ToolLedgerEntry,
    response: string | null,
  ): boolean {
    const { invocationId, callId, name, status } = entry;
    const owner = [appName, userId, sessionId, epoch] as const;
    const { changes } = this.#sql.recordToolCall.run(...owner, invocationId, callId, name, status, response);
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
      this.#sql.insertToolCall.run(pk, invocationId, callId, index + 1, name, status, this.toJson(entry));
    }
  }
}

function toEntry({ invocation_id: invocationId, call_id: callId, name, status, response }: SqlRow): ToolLedgerEntry {
  return {
    invocationId: String(invocationId),
    callId: String(callId),
    name: String(name),
    status: status === 'finished' ? 'finished' : 'started',
    ...(typeof response === 'string' ? { response: JSON.parse(response) } : {}),
  };
}
