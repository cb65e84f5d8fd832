import type { Event } from '../event/event.ts';

/** The stored part of one execution of an agent, in a run that is resumed. */
export interface RecordedExecution {
  readonly executionId: string;
  /** The execution's own events in order, without user messages. */
  readonly events: readonly Event[];
  /** True if one of its events has `endOfAgent`. */
  readonly isCompleted: boolean;
  /** Last checkpoint of the agent; undefined if it stored none. */
  readonly agentState: Readonly<Record<string, unknown>> | undefined;
  /** Index in `RecordedInvocation.events` after which the agents that it ran are resumed: its last checkpoint, or its start. */
  readonly childrenAfter: number;
  /** Sets the event after which the agents that it runs from now on are resumed. */
  continueAfter(event: Event): void;
  /** Makes the agents that it runs from now on start fresh. */
  continueFresh(): void;
}

/** Conditions of the execution to find. */
export interface ExecutionQuery {
  readonly parentExecutionId: string;
  readonly branch: string | undefined;
  /** Absent for a sub-invocation, which its branch identifies. */
  readonly agentName?: string;
  /** Index in `RecordedInvocation.events` after which the execution begins. */
  readonly after: number;
}

/** The stored part of an invocation that is resumed. */
export interface RecordedInvocation {
  /** The events of the invocation, in order. */
  readonly events: readonly Event[];
  /** Number of model replies so far. */
  readonly llmCalls: number;
  /** Returns the execution with this id and this agent name; undefined if there is none. */
  findExecution(executionId: string, agentName: string): RecordedExecution | undefined;
  /** Returns the first matching execution, each execution only once: it belongs to the agent that continues it. Undefined if there is none. */
  claimChild(execution: ExecutionQuery): RecordedExecution | undefined;
  /** True if an event after the loop's last checkpoint ended this loop, and not a loop inside it. */
  hasEscalated(loop: RecordedExecution): boolean;
  /** Returns the events that a sub-invocation sees, since it began. */
  within(branch: string, executionId: string): readonly Event[];
}

/** Key of the round in a loop's checkpoint. Only loops have it. */
export const LOOP_COUNT = 'timesLooped';
