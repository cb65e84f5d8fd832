import type { Event, InvocationContext, ToolLedgerEntry } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { GraphRecord } from './graph-record.ts';
import type { NodeOutcome } from './node-outcome.ts';
import type { NodeRun } from './node-run.ts';
import type { EventChannel } from './event-channel.ts';

/** State that the nodes of a step share. */
export interface GraphStep {
  readonly context: InvocationContext;
  /** The step's number, from 1. */
  readonly step: number;
  readonly record: GraphRecord;
  /** The channels as the step found them. */
  readonly state: Readonly<Record<string, unknown>>;
  /** The session's state as the step found it; undefined where nobody beside the one node of the step changes it. */
  readonly sessionState: Readonly<Record<string, unknown>> | undefined;
  readonly events: EventChannel;
  /** Stops the nodes of the step; of nodes that another one runs, this one's attempt. */
  readonly guard: AbortGuard;
  readonly maxConcurrency: number;
  readonly tellsLifecycle: boolean;
  /** Outcomes of functions that finished and wait to be committed. A retry of the step does not run them again. */
  readonly finished: Map<string, NodeOutcome>;
  /** Commits what came of a run, when it is its turn; the event, undefined for one that only waits on. */
  commit(run: NodeRun, outcome: NodeOutcome): Promise<Event | undefined>;
  ledgerId(call: string): string;
  recorded(call: string): Promise<ToolLedgerEntry | undefined>;
}
