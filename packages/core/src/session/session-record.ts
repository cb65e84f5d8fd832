import type { Event } from '../event/event.ts';
import type { ToolLedgerEntry } from './tool-ledger.ts';

/** Version of the records that this release writes, and the only one that it reads. */
export const SESSION_RECORD_VERSION = 1;

/** First record of an exported session. */
export interface SessionHeaderRecord {
  readonly type: 'session';
  readonly version: typeof SESSION_RECORD_VERSION;
  readonly appName: string;
  readonly userId: string;
  readonly id: string;
  /** Time of the session's last update, in seconds since the epoch. */
  readonly lastUpdateTime: number;
  /** Session-scoped state at the creation of the session, which a rewind to the first event restores. */
  readonly initialState: Readonly<Record<string, unknown>>;
  /** The merged view of the app's, the user's and the session's state. */
  readonly state: Readonly<Record<string, unknown>>;
}

/** A record of an exported session with one of its events. */
export interface EventRecord {
  readonly type: 'event';
  readonly event: Event;
}

/** A record of an exported session with one tool call of its ledger. */
export interface ToolCallRecord {
  readonly type: 'toolCall';
  readonly toolCall: ToolLedgerEntry;
}

/** Last record of an exported session, with the number of records. A truncated export lacks it. */
export interface SessionEndRecord {
  readonly type: 'end';
  readonly events: number;
  readonly toolCalls: number;
}

/** One record of an exported session. Order: the header, the events, the tool calls, the end. */
export type SessionRecord = SessionHeaderRecord | EventRecord | ToolCallRecord | SessionEndRecord;
