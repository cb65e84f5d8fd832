import type { SessionKey, SessionLease, ToolLedgerEntry } from '@eventloom/core';
import { readOutcome, storedOutcome } from '../tool-outcome.ts';
import type { RowTexts, SqlRow } from './sql-connection.ts';
import type { SqlStatements } from './statements.ts';

/** The response and the actions of a call, null for none. */
type OutcomeTexts = readonly [response: string | null, actions: string | null];

/** A number that no session has. */
const NO_SESSION = 0;
/** A text as large as a small event, so that it needs pages of its own. */
const PROBE = ' '.repeat(16 * 1024);

/** The ledger of tool calls. */
export class SqlToolCalls {
  readonly #sql: SqlStatements;
  readonly #texts: RowTexts;

  constructor(sql: SqlStatements, texts: RowTexts) {
    this.#sql = sql;
    this.#texts = texts;
  }

  /** Returns the response and the changes of a tool call as they are stored. @throws SizeLimitError */
  toTexts(entry: ToolLedgerEntry): OutcomeTexts {
    const { entryId, actions } = entry;
    const toText = (value: object | undefined, what: string): string | null =>
      value ? this.#texts.write(JSON.stringify(value), what, entryId, 2) : null;
    return [toText(storedOutcome(entry), 'the response to tool call'), toText(actions, 'the actions of tool call')];
  }

  /** Records a tool call. Returns false if the lease is not live. Called inside a transaction. */
  record({ appName, userId, sessionId, epoch }: SessionLease, entry: ToolLedgerEntry, outcome: OutcomeTexts): boolean {
    const { invocationId, entryId, name, status } = entry;
    const owner = [appName, userId, sessionId, epoch] as const;
    const { changes } = this.#sql.recordToolCall.run(...owner, invocationId, entryId, name, status, ...outcome);
    return changes === 1 || this.#sql.liveLease.get(...owner) !== undefined;
  }

  list({ appName, userId, sessionId }: SessionKey, invocationId: string): ToolLedgerEntry[] {
    return this.#sql.toolCalls.all(appName, userId, sessionId, invocationId).map(this.#toEntry);
  }

  /** Writes a row that belongs to no session. @see BaseSessionService.checkWritable */
  writeProbe(): void {
    this.#sql.deleteToolCalls.run(NO_SESSION);
    this.#sql.insertToolCall.run(NO_SESSION, '', '', 1, '', '', PROBE, null);
  }

  removeProbe(): void {
    this.#sql.deleteToolCalls.run(NO_SESSION);
  }

  /** Lists all tool calls of a session. */
  listAll(pk: number): ToolLedgerEntry[] {
    return this.#sql.allToolCalls.all(pk).map(this.#toEntry);
  }

  /**
   * Stores the tool calls of a session that has none. Called inside a transaction.
   *
   * @throws SizeLimitError
   */
  writeAll(pk: number, entries: readonly ToolLedgerEntry[]): void {
    for (const [index, entry] of entries.entries()) {
      const { invocationId, entryId, name, status } = entry;
      this.#sql.insertToolCall.run(pk, invocationId, entryId, index + 1, name, status, ...this.toTexts(entry));
    }
  }

  readonly #toEntry = (row: SqlRow): ToolLedgerEntry => {
    const { invocation_id: invocationId, call_id: entryId, name, status, response, actions } = row;
    return {
      invocationId: String(invocationId),
      entryId: String(entryId),
      name: String(name),
      status: status === 'finished' ? 'finished' : 'started',
      ...(typeof response === 'string' ? readOutcome(this.#texts.read(response)) : {}),
      ...(typeof actions === 'string' ? { actions: this.#texts.read(actions) as Record<string, unknown> } : {}),
    };
  };
}
