import type { Event } from '../event/event.ts';
import type { ToolLedgerEntry } from './tool-ledger.ts';

/** The version of the records that this program writes; it reads this one. */
export const SESSION_RECORD_VERSION = 1;

/** Begins an exported session. */
export interface SessionHeaderRecord {
  readonly type: 'session';
  readonly version: typeof SESSION_RECORD_VERSION;
  readonly appName: string;
  readonly userId: string;
  readonly id: string;
  /** Seconds since the epoch. */
  readonly lastUpdateTime: number;
  /** The session's own keys as it was created with them: where a rewind to its begin leads. */
  readonly initialState: Readonly<Record<string, unknown>>;
  /** The merged view of the app's, the user's and the session's state. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** One event. */
export interface EventRecord {
  readonly type: 'event';
  readonly event: Event;
}

/** One tool call of the ledger. */
export interface ToolCallRecord {
  readonly type: 'toolCall';
  readonly toolCall: ToolLedgerEntry;
}

/** Ends an exported session, so that one that was cut off is noticed. */
export interface SessionEndRecord {
  readonly type: 'end';
  readonly events: number;
  readonly toolCalls: number;
}

/** A piece of an exported session. The order is: its header, its events, its tool calls, its end. */
export type SessionRecord = SessionHeaderRecord | EventRecord | ToolCallRecord | SessionEndRecord;
