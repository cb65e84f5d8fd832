import type { FunctionCall, FunctionResponsePart } from '../content/content.ts';
import type { EventActions } from '../event/event-actions.ts';

/**
 * The record of one tool call: written before the tool starts and again when it ends, under the session's lease. A call that is
 * `finished` here is never run again, whatever happened to the process afterwards. A call that a person was asked about goes on in
 * the invocation that brings the answer, and has a record there too.
 */
export interface ToolLedgerEntry {
  readonly invocationId: string;
  /** Names the call within the invocation: the id of the event that started it, a slash, and the id of the function call. */
  readonly callId: string;
  readonly name: string;
  readonly status: 'started' | 'finished';
  /** The response of the tool, once finished; JSON. Absent for a long-running tool without a response yet. */
  readonly response?: Readonly<Record<string, unknown>>;
  /** The media of the response. Absent for none, and without a response. */
  readonly parts?: readonly FunctionResponsePart[];
  /** Changes and signals of the call, without `temp:` state; JSON. Absent if there are none. */
  readonly actions?: Readonly<Partial<EventActions>>;
}

/**
 * Returns the id of a call in the ledger: the id of the event that started the call, a slash, and the id of the function call. Models may
 * give several calls of a run the same id; event ids are unique.
 *
 * @param eventId the event that made the call; for a call that a person was asked about, the event of the answer that lets it run
 */
export function ledgerCallId(eventId: string, { id = '' }: FunctionCall): string {
  return `${eventId}/${id}`;
}
