import { type Event, ObjectType } from '@eventloom/core';
import {
  enclosureOf,
  isInput,
  type ExecutionQuery,
  LOOP_COUNT,
  type RecordedExecution,
  type RecordedInvocation,
} from '@eventloom/core/internal';

/** The stored events of a resumed invocation, by execution. */
export class InvocationLog implements RecordedInvocation {
  readonly events: readonly Event[];
  readonly llmCalls: number;
  readonly #executions = new Map<string, Execution>();
  readonly #claimed = new Set<Execution>();

  /** @param events the events of the invocation, in order, without rewound ones */
  constructor(events: readonly Event[]) {
    this.events = events;
    let llmCalls = 0;
    for (const [index, event] of events.entries()) {
      if (event.usageMetadata?.timingInfo) llmCalls++;
      const { executionId } = event;
      // The runner's own events about the invocation belong to no agent.
      const isOfRunner = event.object === ObjectType.runnerEnd || event.object === ObjectType.runnerStreamed;
      if (executionId === undefined || isOfRunner) continue;
      let execution = this.#executions.get(executionId);
      if (!execution) this.#executions.set(executionId, (execution = new Execution(event, index, events)));
      execution.add(event, index);
    }
    this.llmCalls = llmCalls;
  }

  findExecution(executionId: string, agentName: string): RecordedExecution | undefined {
    const execution = this.#executions.get(executionId);
    return execution?.isOf(agentName) ? execution : undefined;
  }

  claimChild({ parentExecutionId, branch, agentName, after }: ExecutionQuery): RecordedExecution | undefined {
    for (const execution of this.#executions.values()) {
      if (execution.begin <= after || this.#claimed.has(execution)) continue;
      if (execution.parentExecutionId !== parentExecutionId || execution.branch !== branch) continue;
      if (agentName !== undefined && !execution.isOf(agentName)) continue;
      this.#claimed.add(execution);
      return execution;
    }
    return undefined;
  }

  hasEscalated(loop: RecordedExecution): boolean {
    return this.events.some(
      (event, index) =>
        index > loop.childrenAfter && event.actions.escalate === true && this.#loopAround(event) === loop.executionId,
    );
  }

  /** Returns the innermost loop that contains an event within its own enclosure. */
  #loopAround({ executionId, branch }: Event): string | undefined {
    const enclosure = enclosureOf(branch);
    let at = this.#executions.get(executionId ?? '');
    while (at && !(at.agentState && LOOP_COUNT in at.agentState)) at = this.#executions.get(at.parentExecutionId ?? '');
    return at && enclosureOf(at.branch) === enclosure ? at.executionId : undefined;
  }

  within(branch: string, executionId: string): readonly Event[] {
    const begin = this.#executions.get(executionId)?.begin ?? Infinity;
    return this.events.filter((event, index) => index >= begin && enclosureOf(event.branch) === branch);
  }
}

/** One stored execution. */
class Execution implements RecordedExecution {
  readonly executionId: string;
  readonly parentExecutionId: string | undefined;
  readonly branch: string | undefined;
  /** The index of its first event. */
  readonly begin: number;
  readonly events: Event[] = [];
  readonly #all: readonly Event[];
  isCompleted = false;
  agentState: Readonly<Record<string, unknown>> | undefined;
  childrenAfter: number;

  constructor({ executionId = '', parentExecutionId, branch }: Event, begin: number, all: readonly Event[]) {
    this.executionId = executionId;
    this.parentExecutionId = parentExecutionId;
    this.branch = branch;
    this.begin = begin;
    this.childrenAfter = begin;
    this.#all = all;
  }

  add(event: Event, index: number): void {
    if (isInput(event)) return;
    this.events.push(event);
    if (event.actions.endOfAgent === true) this.isCompleted = true;
    if (event.actions.agentState === undefined) return;
    this.agentState = event.actions.agentState;
    this.childrenAfter = index;
  }

  isOf(agentName: string): boolean {
    return this.events.some(({ author }) => author === agentName);
  }

  continueAfter(event: Event): void {
    this.childrenAfter = this.#all.indexOf(event);
  }

  continueFresh(): void {
    this.childrenAfter = Infinity;
  }
}
