import { type Event, ObjectType } from '../event/event.ts';
import { isInput } from '../event/event-predicates.ts';
import { NODE_END } from '../event/workflow-node.ts';

/** The context that starts an agent of a resumed invocation. */
interface Starter {
  readonly invocationId: string;
  readonly executionId: string;
  /** The `parentExecutionId` of the agents that it starts. */
  readonly visibleExecutionId: string;
  readonly resumedFrom: Execution | undefined;
}

/** The stored part of an invocation that is resumed. */
export class InvocationLog {
  /** The events of the invocation, in order. */
  readonly events: readonly Event[];
  /** Number of model replies so far. */
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

  /** Returns the execution with this id and this agent name; undefined if there is none. */
  findExecution(executionId: string, agentName: string): Execution | undefined {
    const execution = this.#executions.get(executionId);
    return execution?.isOf(agentName) ? execution : undefined;
  }

  /**
   * Returns the execution that an agent continues when `parent` starts it, each execution only once. Undefined for an agent that starts
   * fresh, as all agents do that are started from one that does so itself.
   *
   * @param agentName undefined for a sub-invocation, which its branch identifies
   */
  claimChild(parent: Starter, branch: string | undefined, agentName?: string): Execution | undefined {
    const parentExecutionId = parent.visibleExecutionId;
    // The first agent of a run may have called agents before it stored an event.
    const isFirst = parent.executionId === parent.invocationId;
    const after = parent.resumedFrom?.childrenAfter ?? (isFirst ? -1 : Infinity);
    for (const execution of this.#executions.values()) {
      if (execution.begin <= after || this.#claimed.has(execution)) continue;
      if (execution.parentExecutionId !== parentExecutionId || execution.branch !== branch) continue;
      if (agentName !== undefined && !execution.isOf(agentName)) continue;
      this.#claimed.add(execution);
      return execution;
    }
    return undefined;
  }

  /** Claims an execution for an agent that is done, so that no other one continues it. */
  skip(executionId: string): void {
    const execution = this.#executions.get(executionId);
    if (execution) this.#claimed.add(execution);
  }

  /** True for an event of an execution, or of one that it contains. */
  isWithin({ executionId = '' }: Event, execution: Execution): boolean {
    let at = this.#executions.get(executionId);
    while (at && at !== execution) at = this.#executions.get(at.parentExecutionId ?? '');
    return at === execution;
  }

  /** Returns the authors of the execution of an event, and of all executions that it is within. */
  authorsAround({ executionId = '' }: Event): string[] {
    const authors = new Set<string>();
    for (let at = this.#executions.get(executionId); at; at = this.#executions.get(at.parentExecutionId ?? ''))
      for (const { author } of at.events) authors.add(author);
    return [...authors];
  }

  /**
   * Returns the events that a sub-invocation sees, since it began: those on its branch and below, without those of
   * sub-invocations within it.
   */
  within(branch: string, executionId: string): readonly Event[] {
    const begin = this.#executions.get(executionId)?.begin ?? Infinity;
    // Each sub-invocation begins with an input on its branch. Nodes of a workflow that work side by side have branches,
    // too, and begin without one.
    const inputs = new Set([branch]);
    return this.events.filter((event, index) => {
      if (index < begin) return false;
      if (event.object === ObjectType.agentInput && event.branch !== undefined) inputs.add(event.branch);
      return innermost(event.branch, inputs) === branch;
    });
  }
}

/** The stored part of one execution of an agent. */
export class Execution {
  readonly executionId: string;
  readonly parentExecutionId: string | undefined;
  readonly branch: string | undefined;
  /** The index of its first event. */
  readonly begin: number;
  /** The execution's own events in order, without user messages. */
  readonly events: Event[] = [];
  readonly #all: readonly Event[];
  /** True if one of its events has `endOfAgent`. */
  isCompleted = false;
  /** Last checkpoint of the agent; undefined if it stored none. */
  agentState: Readonly<Record<string, unknown>> | undefined;
  /**
   * Index in `InvocationLog.events` after which an agent that it runs next is looked for, to be resumed. At first that is its last
   * checkpoint, or its start: agents that it ran before are not run again.
   */
  childrenAfter: number;

  constructor({ executionId = '', parentExecutionId, branch }: Event, begin: number, all: readonly Event[]) {
    this.executionId = executionId;
    this.parentExecutionId = parentExecutionId;
    this.branch = branch;
    this.begin = begin;
    this.childrenAfter = begin;
    this.#all = all;
  }

  /** Adds an event of the execution, at its index in `InvocationLog.events`. */
  add(event: Event, index: number): void {
    if (isInput(event)) return;
    this.events.push(event);
    if (event.actions.endOfAgent === true) this.isCompleted = true;
    const { agentState } = event.actions;
    if (agentState === undefined || NODE_END in agentState) return;
    this.agentState = agentState;
    this.childrenAfter = index;
  }

  /** True if an agent of this name stored one of the events. */
  isOf(agentName: string): boolean {
    return this.events.some(({ author }) => author === agentName);
  }

  /** Makes the agents that it runs from now on resume if they began after this event. */
  resumeChildrenAfter(event: Event): void {
    this.childrenAfter = this.#all.indexOf(event);
  }

  /** Makes the agents that it runs from now on start fresh. */
  startChildrenFresh(): void {
    this.childrenAfter = Infinity;
  }
}

/** Returns the longest of these branches that a branch is on or below; undefined if there is none. */
function innermost(branch = '', branches: ReadonlySet<string>): string | undefined {
  for (let end = branch.length; end > 0; end = branch.lastIndexOf('.', end - 1)) {
    const around = branch.slice(0, end);
    if (branches.has(around)) return around;
  }
  return undefined;
}
