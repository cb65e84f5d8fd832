import {
  type BaseAgent,
  type BaseTool,
  createEventActions,
  type Event,
  type EventActions,
  type FunctionCall,
  type InvocationContext,
  type Session,
  State,
  ConfigurationError,
} from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { SchemaLike } from '@eventloom/tools';
import type { BaseNode } from './base-node.ts';
import { StateSchema } from './state-schema.ts';
import type { WorkflowStream } from './workflow-stream.ts';

/** Selects the edges to follow after a node. Values are compared as texts. */
export type RouteValue = boolean | number | string;

/** Anything that `context.runNode` runs: a node, an agent, a tool, or a function with a name. */
export type RunnableNode = BaseNode | BaseAgent | BaseTool | ((...args: never[]) => unknown);

/** The result of a node's run. */
export interface NodeResult {
  output: unknown;
  route?: RouteValue | readonly RouteValue[] | undefined;
  branch?: string | undefined;
  /** Ids of the questions that it waits for; empty if it is done. */
  interruptIds: string[];
}

/** Options of `context.runNode` in a workflow of programs that were written for `@google/adk`. */
export interface AdkRunNodeOptions {
  /** Name of the node in events. Default: its own. */
  nodeName?: string | undefined;
  /** Identifies the run when the workflow is continued. Default: the number of the run among those of nodes with this name, from 1. */
  runId?: string | undefined;
  /** True to use the output of this run as the output of the calling node. Default false. */
  useAsOutput?: boolean | undefined;
  /** True to run the node on a branch of its own. Default false. */
  useSubBranch?: boolean | undefined;
  overrideBranch?: string | undefined;
  overrideIsolationScope?: string | undefined;
}

/** Runs the nodes of a workflow: see `NodeScheduler`. */
export interface NodeRuns {
  run(outer: AdkNodeContext, nodeLike: RunnableNode, input: unknown, options: AdkRunNodeOptions): Promise<NodeResult>;
  /** The events of all nodes. */
  readonly stream: WorkflowStream;
}

/** The place of a node's run in its workflow. */
export interface NodePlace {
  readonly invocationContext: InvocationContext;
  readonly runs: NodeRuns;
  /** Names of the outer nodes and of this one, joined by dots. */
  readonly nodePath: string;
  readonly runId: string;
  /**
   * Numbers of the runs of the outer nodes and of this one, joined by dots. Each counts within one run of the node
   * around it, runs before the workflow was continued included.
   */
  readonly activation: string;
  readonly branch: string | undefined;
  readonly isolationScope: string | undefined;
  readonly resumeInputs: Record<string, unknown>;
  readonly stateSchema: SchemaLike | undefined;
  readonly guard: AbortGuard;
  /** True if the node continues a run that stored events, so that its agent has read the input. */
  readonly hasBegun: boolean;
  /** The last output and route in the events of the run that the node continues. */
  readonly earlier: Pick<NodeResult, 'output' | 'route'> | undefined;
  /** The calls by which an earlier run of the node asked people. */
  readonly questions: readonly FunctionCall[];
  /** Outputs in this workflow by the name of the node. */
  readonly outputs: ReadonlyMap<string, unknown>;
  /** Paths of the outer nodes whose output the node's output is as well. */
  readonly outputFor: readonly string[];
}

/** Marks the result of a task that an agent of a node handed to another agent: it is the output of no node. */
export function asTaskResult(event: Event): Event {
  return event.output === undefined ? event : { ...event, nodeInfo: { ...event.nodeInfo, outputFor: [] } };
}

/** Returns the output of its node that an event has. */
export function nodeOutputOf({ output, nodeInfo }: Event): unknown {
  return nodeInfo?.outputFor?.length === 0 ? undefined : output;
}

/** Names the node in its event, and the nodes whose output it has. */
export function withNode({ nodePath, outputFor }: NodePlace, event: Event): Event {
  // An event of a workflow in an agent of the node has the path of its own node.
  const nodeInfo = { path: nodePath, ...event.nodeInfo };
  if (nodeOutputOf(event) === undefined) return { ...event, nodeInfo };
  return { ...event, nodeInfo: { ...nodeInfo, outputFor: [nodePath, ...outputFor] } };
}

/**
 * The parameter of a node's function in a workflow of programs that were written for `@google/adk`: state, answers of
 * people, and ways to run other nodes. Each run of a node has its own.
 */
export class AdkNodeContext implements NodeResult {
  /** The name of the class in error messages. */
  static readonly name: string = 'NodeContext';
  readonly invocationContext: InvocationContext;
  readonly nodePath: string;
  readonly runId: string;
  /** Answers by the id of the question, for nodes with `rerunOnResume`. */
  readonly resumeInputs: Record<string, unknown>;
  readonly isolationScope: string | undefined;
  readonly stateSchema: SchemaLike | undefined;
  output: unknown = undefined;
  route: RouteValue | readonly RouteValue[] | undefined = undefined;
  interruptIds: string[] = [];
  /** Number of the attempt, from 1. */
  attemptCount = 1;
  /** Identifies the attempt among all of this run, also those in earlier attempts of its workflow. */
  attemptId = '';
  /** True once a node that ran with `useAsOutput` gave the output. */
  outputDelegated = false;
  /** The route in the last event of the node with one. A route that the function only assigned is in none. */
  storedRoute: RouteValue | readonly RouteValue[] | undefined = undefined;
  /** True once an event of the node has an output or a route. */
  hasResultEvent = false;
  /** The error event that the node yielded. */
  reportedError: { readonly errorCode: string; readonly errorMessage: string | undefined } | undefined;
  /** Changes of state that no event holds yet. */
  actions: EventActions = createEventActions();
  /** The runs that the attempt made with `runNode`. @internal */
  dynamicRuns = new DynamicRuns();
  readonly place: NodePlace;
  readonly #schema: StateSchema | undefined;
  #guard: AbortGuard;
  #state: State | undefined;

  constructor(place: NodePlace) {
    this.place = place;
    this.invocationContext = place.invocationContext;
    this.nodePath = place.nodePath;
    this.runId = place.runId;
    this.resumeInputs = place.resumeInputs;
    this.isolationScope = place.isolationScope;
    this.stateSchema = place.stateSchema;
    this.#schema = place.stateSchema && new StateSchema(place.stateSchema);
    this.#guard = place.guard;
  }

  /** Begins an attempt, and clears the output, the questions and the state changes of the one before. */
  beginAttempt(attempt: number, attemptId: string, guard: AbortGuard): void {
    this.attemptCount = attempt;
    this.attemptId = attemptId;
    this.output = undefined;
    this.route = this.storedRoute = undefined;
    this.hasResultEvent = false;
    this.interruptIds = [];
    this.reportedError = undefined;
    this.dynamicRuns = new DynamicRuns();
    this.actions = createEventActions();
    this.#state = undefined;
    this.#guard = guard;
  }

  /** The guard that stops the attempt and the nodes that it runs. */
  get guard(): AbortGuard {
    return this.#guard;
  }

  /** Returns and clears the changes of state that no event holds yet; undefined if there are none. */
  takeActions(): Pick<EventActions, 'stateDelta' | 'removedState'> | undefined {
    const { stateDelta, removedState } = this.actions;
    if (Object.keys(stateDelta).length === 0 && !removedState?.length) return undefined;
    this.actions.stateDelta = {};
    delete this.actions.removedState;
    return removedState ? { stateDelta, removedState } : { stateDelta };
  }

  /** The session's state. Writes are stored with the next event of the node, and other nodes see them at once. */
  get state(): State {
    const { state } = this.invocationContext.invocation.session;
    return (this.#state ??= this.#schema
      ? new CheckedState(state, this.actions, this.#schema)
      : new State(state, this.actions));
  }

  /** Checks the state that an event of the node writes. @throws StateSchemaError */
  checkState({ stateDelta }: EventActions): void {
    if (this.#schema) for (const [key, value] of Object.entries(stateDelta)) this.#schema.check(key, value);
  }

  get branch(): string | undefined {
    return this.place.branch;
  }

  get invocationId(): string {
    return this.invocationContext.invocationId;
  }

  get session(): Session {
    return this.invocationContext.session;
  }

  /** Fires when the run is aborted, another node failed, or the attempt timed out. */
  get abortSignal(): AbortSignal {
    return this.#guard.signal;
  }

  getInvocationContext(): InvocationContext {
    return this.invocationContext;
  }

  /** Yields an event from the run. */
  emit(event: Event): void {
    const { place } = this;
    const author = event.author || place.nodePath.slice(place.nodePath.lastIndexOf('.') + 1);
    // The result is not needed: the node is stopped when the reader of the stream has left.
    void place.runs.stream.emit({ ...event, author });
  }

  /**
   * Runs another node and resolves to its result. Runs that completed are not repeated when the workflow is continued:
   * their stored result is returned. If the node waits for a person, the call does not return, and this node waits as
   * well.
   * @throws DynamicNodeFailError if the node failed
   * @throws ConfigurationError for a value that cannot run, and for an invalid `runId`
   */
  runNode(nodeLike: RunnableNode, input?: unknown, options: AdkRunNodeOptions = {}): Promise<NodeResult> {
    return this.place.runs.run(this, nodeLike, input, options);
  }
}

/** State whose keys and values a schema declares. */
class CheckedState extends State {
  readonly #schema: StateSchema;

  constructor(view: Record<string, unknown>, actions: EventActions, schema: StateSchema) {
    super(view, actions);
    this.#schema = schema;
  }

  override set(key: string, value: unknown): void {
    this.#schema.check(key, value);
    super.set(key, value);
  }
}

/** The runs that one attempt of a node made with `runNode`. */
class DynamicRuns {
  /** The runs by their paths. */
  readonly started = new Map<string, Promise<NodeResult>>();
  /** Paths of the runs that have not settled. */
  readonly unfinished = new Set<string>();
  readonly #counts = new Map<string, number>();
  /** The given ids that could be numbers of runs, by the name of the node. */
  readonly #givenNumbers = new Map<string, string>();

  /** Adds a run, and returns it. */
  start(path: string, run: Promise<NodeResult>): Promise<NodeResult> {
    this.unfinished.add(path);
    const running = run.finally(() => this.unfinished.delete(path));
    this.started.set(path, running);
    return running;
  }

  /**
   * Returns the id of a run.
   * @throws ConfigurationError for an empty id, and if a number is given for some runs of a node and not for others
   */
  identify(name: string, runId: string | undefined): string {
    const count = this.#counts.get(name) ?? 0;
    if (runId?.trim() === '')
      throw new ConfigurationError(`runNode "${name}": runId is empty; leave it out to number the runs`);
    if (runId !== undefined && /^\d+$/.test(runId)) this.#givenNumbers.set(name, runId);
    const number = this.#givenNumbers.get(name);
    if (number !== undefined && (runId === undefined || count > 0))
      throw new ConfigurationError(
        `runNode "${name}": runId "${number}" could be the number of another run; write one that is not a number`,
      );
    if (runId === undefined) this.#counts.set(name, count + 1);
    return runId ?? String(count + 1);
  }
}
