import type { Event } from '../event/event.ts';

/** The stored part of one execution of an agent, in a run that is resumed. */
export interface RecordedExecution {
  readonly executionId: string;
  /** Its own events in order; what the user said is not among them. */
  readonly events: readonly Event[];
  /** True when an event says that the agent is done. */
  readonly isCompleted: boolean;
  /** The last checkpoint of the agent. */
  readonly agentState: Readonly<Record<string, unknown>> | undefined;
  /** Position in the invocation after which the agents that it ran are resumed: its last checkpoint, or its start. */
  readonly position: number;
  /** Sets the event behind which the agents that it runs from now on are resumed. */
  continueAfter(event: Event): void;
  /** Makes the agents that it runs from now on start fresh. */
  continueFresh(): void;
}

/** The execution to look for. */
export interface ExecutionQuery {
  readonly parentExecutionId: string;
  readonly branch: string | undefined;
  /** Absent for a sub-invocation: its branch says enough. */
  readonly agentName?: string;
  /** The execution begins behind this place. */
  readonly after: number;
}

/**
 * The stored part of an invocation that is resumed. Each execution is returned once: to the agent that continues it.
 */
export interface RecordedInvocation {
  /** The events of the invocation, in order. */
  readonly events: readonly Event[];
  /** Number of model replies so far. */
  readonly llmCalls: number;
  /** The execution with this id, of the agent of this name. */
  claimById(executionId: string, agentName: string): RecordedExecution | undefined;
  /** The first execution of those that match and were not given out. */
  claim(execution: ExecutionQuery): RecordedExecution | undefined;
  /** True when an event behind this place left the loop that is this execution, and none inside it. */
  isLeft(loop: RecordedExecution): boolean;
  /** The events that are seen in the enclosure of a sub-invocation, since it began. */
  within(branch: string, executionId: string): readonly Event[];
}

/** The key of a loop's checkpoint that counts its rounds: tells loops from other agents. */
export const LOOP_COUNT = 'timesLooped';
