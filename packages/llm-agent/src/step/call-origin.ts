import type { FunctionCall, ToolLedgerEntry } from '@eventloom/core';

/** What sets calls off, and what came of them before when the run is resumed. */
export interface CallOrigin {
  /** The id of the event with the calls. With the id of a call it names the call in the ledger. */
  readonly eventId: string;
  /** What the ledger has of the invocation, by call id; absent when nothing was run before. */
  readonly ledger?: ReadonlyMap<string, ToolLedgerEntry>;
  /** What a person was asked about the calls already. */
  readonly asked?: readonly FunctionCall[];
  /** Told when a tool begins to listen to the client of a live run. */
  readonly onBegan?: () => Promise<void>;
}

/** The id of a call in the ledger: models may give one id to several calls of a run, and events have ids of their own. */
export function ledgerCallId(eventId: string, call: FunctionCall): string {
  return `${eventId}/${call.id ?? ''}`;
}
