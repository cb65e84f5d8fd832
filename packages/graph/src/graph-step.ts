import { type EventQueue } from '@eventloom/core/internal';
import type { Event, InvocationContext, ToolLedgerEntry } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { GraphRecord } from './graph-record.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';

/** State that the nodes of a step share. */
export interface GraphStep {
  readonly context: InvocationContext;
  /** The step's number, from 1. */
  readonly step: number;
  readonly record: GraphRecord;
  /** Channel values at the beginning of the step. */
  readonly state: Readonly<Record<string, unknown>>;
  /** The session's state at the beginning of the step; undefined if the step has only one node. */
  readonly sessionState: Readonly<Record<string, unknown>> | undefined;
  readonly events: EventQueue;
  /** Stops the nodes of the step. For inner nodes it is the guard of the attempt that runs them. */
  readonly guard: AbortGuard;
  readonly maxConcurrency: number;
  readonly hasLifecycleEvents: boolean;
  /** Outcomes of functions that finished and are not committed yet. They are not run again in this process. */
  readonly finished: Map<string, NodeOutcome>;
  /** Calls of tools whose attempt was aborted before they returned: they may work on, and have their effect. */
  readonly interrupted: Set<string>;
  /** Commits the outcome of a run in its turn. Returns the event; undefined if the run still waits and has no new question. */
  commit(run: NodeRun, outcome: NodeOutcome): Promise<Event | undefined>;
  /** Returns the id of a call's entry in the ledger. */
  entryId(call: string): string;
  recorded(call: string): Promise<ToolLedgerEntry | undefined>;
}
