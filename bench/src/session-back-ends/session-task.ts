/** The state of the process in which the turns of a task begin. */
export type TurnStart =
  /** A turn in a process that had a turn of the session before. */
  | 'warm'
  /** A turn in a process without a cached session, which reads the newest ten events. */
  | 'cold with a window'
  /** A turn in a process without a cached session, which reads the events since the last compaction. */
  | 'cold with a compaction';

/** A task with sessions, as JSON, because some back ends execute it in another process. */
export type SessionTask =
  | { readonly does: 'nothing' }
  /** Creates a session with this number of events unless this task created it before. Its lease is acquired, or released. */
  | { readonly does: 'open'; readonly sessionId: string; readonly events: number; readonly hasLease: boolean }
  /** Appends to all opened sessions concurrently: this number of events to each, one after the other. */
  | { readonly does: 'append'; readonly sessionIds: readonly string[]; readonly count: number }
  /** The baseline of appends: this number of concurrent writers, each with this number of bare inserts, one after the other. */
  | { readonly does: 'insert'; readonly writers: number; readonly count: number }
  /** Appends a compaction that covers all of the session. */
  | { readonly does: 'compact'; readonly sessionId: string }
  /** Calls `getSession` with `numRecentEvents: 10`. */
  | { readonly does: 'read'; readonly sessionId: string; readonly count: number }
  /** Reads a page of four events in the middle of the session, at the position that this task's first read found. */
  | { readonly does: 'page'; readonly sessionId: string; readonly count: number }
  /** Runs whole turns with a model that answers at once. */
  | { readonly does: 'turn'; readonly sessionId: string; readonly count: number; readonly start: TurnStart };
