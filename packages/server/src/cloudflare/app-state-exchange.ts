import type { AppStateChange, PendingAppState } from '@eventloom/sessions/durable-object';

/** What a user's object tells the object of its app: what was written, and how much it knows already. */
export interface AppStateExchange {
  /** Who delivers: numbers of changes are its own. */
  readonly sender: string;
  readonly knownVersion: number;
  readonly pending: readonly PendingAppState[];
}

/** What it is answered. */
export interface AppStateAnswer {
  /** What comes after `knownVersion`, in the order it was written. */
  readonly changes: readonly AppStateChange[];
  /** Up to which version these go. */
  readonly version: number;
  readonly hasMore: boolean;
}
