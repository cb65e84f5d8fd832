import type { FunctionCall, FunctionResponsePart } from '../content/content.ts';
import type { EventActions } from '../event/event-actions.ts';

/**
 * The record of one tool call, written under the session's lease before the tool starts and again when it ends. A `finished`
 * call is never run again, even if the process was lost afterwards. A call that waited for a person continues in the
 * invocation that contains the answer, and has a second record there.
 */
export interface ToolLedgerEntry {
  readonly invocationId: string;
  /** Id of the call within the invocation: see `ledgerCallId`. */
  readonly callId: string;
  readonly name: string;
  readonly status: 'started' | 'finished';
  /** The response of the tool, once finished; JSON. Absent for a long-running tool without a response yet. */
  readonly response?: Readonly<Record<string, unknown>>;
  /** Media of the response. Absent if there are none or there is no response. */
  readonly parts?: readonly FunctionResponsePart[];
  /** Changes and signals of the call, without `temp:` state; JSON. Absent if there are none. */
  readonly actions?: Readonly<Partial<EventActions>>;
}

/**
 * Returns the id of a call in the ledger: the id of the event that started the call, a slash, and the id of the function call. Models may
 * give several calls of a run the same id; event ids are unique.
 *
 * @param eventId the event that made the call; for a call that waited for a person, the event of the answer
 */
export function ledgerCallId(eventId: string, { id = '' }: FunctionCall): string {
  return `${eventId}/${id}`;
}
