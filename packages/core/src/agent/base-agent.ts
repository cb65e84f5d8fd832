import type { AgentPlace, InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import { isYieldedAgain, toSeconds } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import type { BaseLiveRequestQueue } from '../live/live-request-queue.ts';
import {
  type AfterAgentCallback,
  assignedListError,
  type BeforeAgentCallback,
  EMPTY_LIST,
  type OnAgentErrorCallback,
  runWithCallbacks,
  type SingleAgentCallback,
  type SingleAgentErrorCallback,
  toCallbacks,
  toList,
} from './agent-callbacks.ts';
import { toValidName } from './nearest-names.ts';
import { checkBaseOptions, type OptionRules, readOnlyError, wrongOption } from './options.ts';
import { runResumable } from './run-resumable.ts';
import { describeKind } from '../content/json.ts';

/** Options of every agent. */
export interface BaseAgentConfig {
  /** Letters, digits, `_`, `$` and `-`, not starting with a digit or `-`. Unique in the agent tree. `user` is reserved. */
  readonly name: string;
  /** The agent's purpose in a line or two. Models of other agents read it to decide on transfers and calls. Default: empty. */
  readonly description?: string;
  /** Child agents. An agent object can be the child of one agent only. Default: none. */
  readonly subAgents?: readonly BaseAgent[];
  /** Runs before the agent. Content that a callback returns becomes the agent's answer, and the agent does not run. */
  readonly beforeAgentCallback?: BeforeAgentCallback;
  /** Runs after the agent. Content that a callback returns is added as one more event of the agent. */
  readonly afterAgentCallback?: AfterAgentCallback;
  /** Runs if the agent throws. Content that a callback returns becomes the agent's answer, and the run continues. */
  readonly onAgentErrorCallback?: OnAgentErrorCallback;
}

/** The option names of every agent, for agent classes that check their own options together with these. */
export const BASE_AGENT_OPTIONS: OptionRules<BaseAgentConfig> = {
  name: { is: 'text', write: "'helper'" },
  description: { is: 'text', write: "'Answers questions about invoices.'" },
  subAgents: { is: 'list', wanted: 'a list of agents', write: '[writer, critic]' },
  // `toCallbacks` checks these, with an error that names the parameter.
  beforeAgentCallback: 'any',
  afterAgentCallback: 'any',
  onAgentErrorCallback: 'any',
};

/** The lists of an agent that its constructor made, which are frozen. */
const LISTS = ['subAgents', 'beforeAgentCallback', 'afterAgentCallback', 'onAgentErrorCallback'] as const;
const AGENT_NAME = /^[\p{ID_Start}_$][\p{ID_Continue}$-]*$/u;
const NO_AGENTS: ReadonlyMap<string, BaseAgent> = new Map();

/**
 * Base of all agents. An agent yields events; the runner commits each event before it requests the next one, so the code after
 * a `yield` sees the committed state. A run never changes an agent object, so one object can serve any number of runs at the
 * same time.
 *
 * Agents form a tree, which cannot be changed after its root is constructed. A custom agent extends this class,
 * implements `runAsyncImpl`, and runs other agents with `yield* other.runAsync(context)`. Its constructor may pass
 * options of its own to `super`, which ignores them. An option that is probably misspelt is refused: its name is one
 * character off an option of `BaseAgentConfig` that is not given, and its value is valid for that option.
 *
 * @example
 * class Greeter extends BaseAgent {
 *   protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
 *     yield context.createEvent({ content: { role: 'model', parts: [{ text: `Hello, ${context.userId}.` }] } });
 *   }
 * }
 * const greeter = new Greeter({ name: 'greeter', description: 'Greets the user.' });
 */
export abstract class BaseAgent {
  /** Unique name in the agent's tree. It is the `author` of the agent's events. */
  readonly name: string;
  /** Description of the agent's task. Models of other agents read it to decide whether to transfer to this one. */
  readonly description: string;
  /** Child agents, in the order in which they were given. */
  readonly subAgents: readonly BaseAgent[];
  /** Callbacks that run before the agent, in order; see `BaseAgentConfig.beforeAgentCallback`. */
  readonly beforeAgentCallback: readonly SingleAgentCallback[];
  /** Callbacks that run after the agent, in order; see `BaseAgentConfig.afterAgentCallback`. */
  readonly afterAgentCallback: readonly SingleAgentCallback[];
  /** Callbacks that run after the agent threw, in order; see `BaseAgentConfig.onAgentErrorCallback`. */
  readonly onAgentErrorCallback: readonly SingleAgentErrorCallback[];
  readonly #below: ReadonlyMap<string, BaseAgent>;
  #parent: BaseAgent | undefined;

  /**
   * Checks the options and becomes the parent of the sub-agents.
   * @throws ConfigurationError for a name with other characters or `user`, for an option of another kind or with a misspelt name, for a
   * sub-agent that is not an agent or has a parent already, and for a name that two agents of the tree share
   */
  constructor(config: BaseAgentConfig) {
    const { name: given } = config ?? {};
    const owner = typeof given === 'string' ? `agent "${given}"` : new.target.name;
    checkBaseOptions(owner, BASE_AGENT_OPTIONS, config, given === undefined ? exampleOf(new.target) : undefined);
    if (config.name === undefined)
      throw new ConfigurationError(
        `${owner}: name is missing; write ${exampleOf(new.target)}, with a name that no other agent of the tree has`,
      );
    if (!AGENT_NAME.test(config.name)) {
      throw new ConfigurationError(
        `agent name: expected letters, digits, _, $ and -, beginning with a letter, _ or $, got ${JSON.stringify(config.name)}; write name: '${toValidName(config.name)}'`,
      );
    }
    if (config.name === 'user')
      throw new ConfigurationError('agent name "user": is reserved for the events of the user; choose another name');
    this.name = config.name;
    this.description = config.description ?? '';
    this.subAgents = toList(config.subAgents);
    const { name } = config;
    this.beforeAgentCallback = toCallbacks(name, 'beforeAgentCallback', config.beforeAgentCallback, '(context)');
    this.afterAgentCallback = toCallbacks(name, 'afterAgentCallback', config.afterAgentCallback, '(context)');
    const onError = config.onAgentErrorCallback;
    this.onAgentErrorCallback = toCallbacks(name, 'onAgentErrorCallback', onError, '({ context, error })');
    this.#below = this.subAgents.length > 0 ? indexSubAgents(config.name, this.subAgents) : NO_AGENTS;
    for (const agent of this.subAgents) agent['~eventloom.agent.adopt'](this);
  }

  get '~eventloom.agent'(): true {
    return true;
  }

  /** Sets the parent. Called by the parent, which may come from another loaded copy of this package. @internal */
  '~eventloom.agent.adopt'(parent: BaseAgent): void {
    this.#parent = parent;
  }

  /** The parent agent; undefined for the root of a tree. */
  get parentAgent(): BaseAgent | undefined {
    return this.#parent;
  }

  set parentAgent(_agent: never) {
    throw readOnlyError(`agent "${this.name}"`, 'parentAgent', 'list the agent in the subAgents of its parent');
  }

  /**
   * True if this event completes the agent. The event may be its own or a sub-agent's. If the process ends right
   * after such an event was stored, a run that is not resumable is recorded as completed. Default: false, the agent may have more to do.
   * @internal
   */
  isDoneAfter(_event: Event): boolean {
    return false;
  }

  /** The root of the agent's tree; the agent itself if it has no parent. */
  get rootAgent(): BaseAgent {
    return this.#parent ? this.#parent.rootAgent : this;
  }

  set rootAgent(_agent: never) {
    throw readOnlyError(`agent "${this.name}"`, 'rootAgent', 'list the agent in the subAgents of its parent');
  }

  /** Finds an agent by name: this one or one below it, at any depth. Undefined if there is none. */
  findAgent(name: string): BaseAgent | undefined {
    return name === this.name ? this : this.#below.get(name);
  }

  /** Finds an agent by name below this one, at any depth. Undefined if there is none. */
  findSubAgent(name: string): BaseAgent | undefined {
    return this.#below.get(name);
  }

  /** Transfers that the agent's model may make besides those to its sub-agents; undefined for an agent without a model. @internal */
  get transferRules(): TransferRules | undefined {
    return undefined;
  }

  /**
   * Schema of the arguments when the agent is called as a tool, of any kind that tools accept. Undefined: the agent takes
   * one text.
   */
  get inputSchema(): unknown {
    return undefined;
  }

  set inputSchema(_schema: never) {
    throw readOnlyError(
      `agent "${this.name}"`,
      'inputSchema',
      'write get inputSchema() { return z.object({ … }); } in its class',
    );
  }

  /**
   * True for an agent that creates all of its events with `context.createEvent`, or passes on events of other agents.
   * Default: false; then the runner fills in missing fields (author, branch, execution ids).
   */
  protected get makesCompleteEvents(): boolean {
    return false;
  }

  /** False for an agent that only runs another one, and has no operation of its own: see `Instrumentation`. @internal */
  get isObserved(): boolean {
    return true;
  }

  /** True for an agent that stores its own checkpoints in resumable runs. Default: false, and only its start is stored. */
  protected get storesProgress(): boolean {
    return false;
  }

  /** @internal False for an agent whose questions can be answered only while the run that asked them can continue. Default: true. */
  get takesLateAnswers(): boolean {
    return true;
  }

  /** Does the agent's work: yields events until the agent is done. */
  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;

  /**
   * Does the agent's work in a live run: reads the client's requests from `queue` and yields events until the agent is done,
   * or until the queue is closed and empty. Agents that it runs with `runAsync` run live as well. Absent: the run's live
   * support runs the agent's model, if it has one.
   */
  protected runLiveImpl?(context: InvocationContext, queue: BaseLiveRequestQueue): AsyncGenerator<Event, void, void>;

  /** True for an agent that can run live: with `runLiveImpl`, or with a model that the run's live support can run. */
  get canRunLive(): boolean {
    return this.runLiveImpl !== undefined;
  }

  set canRunLive(_value: never) {
    throw readOnlyError(
      `agent "${this.name}"`,
      'canRunLive',
      'write async *runLiveImpl(context, queue) { yield … } in its class',
    );
  }

  /** Agents that this agent runs in isolation, as graph nodes or as tools. They are not part of its tree. @internal */
  get calledAgents(): readonly BaseAgent[] {
    return [];
  }

  /** Describes a run of this agent from stored events, for display; undefined for an agent without a description. @internal */
  describeRun(_query: RunQuery): RunDescription | undefined {
    return undefined;
  }

  /**
   * Releases the resources of the agent and of its sub-agents at any depth, even if closing some of them fails. They cannot run afterwards.
   */
  close(): Promise<void> | void {
    return closeAll(this.subAgents);
  }

  /**
   * Runs the agent as part of another agent's work, and then each agent that control is transferred to. Shorthand for
   * `parentContext.runAgent(this, place)`.
   *
   * @param place the values that differ from the parent's place in the run
   */
  runAsync(parentContext: InvocationContext, place?: AgentPlace): AsyncGenerator<Event, void, void> {
    return parentContext.runAgent(this, place);
  }

  /**
   * Runs the agent in its own context: the callbacks before it, its work, and the callbacks after it. Called by the
   * runner; an agent runs another agent with `runAsync`.
   * @internal
   */
  runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { plugins } = context;
    checkLists(this, LISTS);
    const hasCallbacks =
      this.beforeAgentCallback.length + this.afterAgentCallback.length + this.onAgentErrorCallback.length > 0 ||
      plugins.has('beforeAgentCallback') ||
      plugins.has('afterAgentCallback') ||
      plugins.has('onAgentErrorCallback');
    // Each generator between the model and the caller costs about 100 ns a chunk, so none is added without a reason.
    if (!hasCallbacks && !context.isResumable) return this.#work(context);
    const work = (): AsyncGenerator<Event, void, void> => this.#work(context);
    if (!context.isResumable) return runWithCallbacks(this, context, work);
    return runResumable(this, context, work, { hasCallbacks, storesProgress: this.storesProgress });
  }

  #work(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { live, rootAgent } = context.invocation;
    live?.checkAgent(this, rootAgent);
    // A class in JavaScript may lack the method, or override `runAsync` in its place.
    const hasWork = typeof this.runAsyncImpl === 'function';
    const events = live
      ? (this.runLiveImpl?.(context, live.queue) ?? live.runAgent(this, context))
      : hasWork
        ? this.runAsyncImpl(context)
        : undefined;
    if (typeof events?.next !== 'function')
      throw new ConfigurationError(
        `agent "${this.name}": runAsyncImpl: expected an async generator, got ${describeKind(events)}; write async *runAsyncImpl(context) { yield … }`,
      );
    // The runner completes the events of the first agent of a run.
    const isFirst = context.parentExecutionId === undefined && context.branch === undefined;
    return isFirst || this.makesCompleteEvents ? events : completedEvents(events, context);
  }
}

/** Yields the events of an agent, with the missing fields of those that have no execution id. */
export async function* completedEvents(
  events: AsyncGenerator<Event, void, void>,
  context: InvocationContext,
): AsyncGenerator<Event, void, void> {
  for await (const event of events) yield completedEvent(event, context);
}

/** Fills in the missing fields of an event without an execution id. The runner checks all other values. */
function completedEvent(event: Event, context: InvocationContext): Event {
  if (typeof event !== 'object' || event === null || event.executionId !== undefined) return event;
  const { id, author, timestamp, ...said } = event;
  const isNew = !isYieldedAgain(event);
  return context.createEvent({
    ...said,
    ...(id && isNew ? { id } : {}),
    ...(author ? { author } : {}),
    ...(timestamp && isNew ? { timestamp: toSeconds(timestamp) } : {}),
  });
}

/**
 * Checks that these lists of an agent are those that its constructor made.
 * @throws ConfigurationError for a list that the program assigned, or declared as a class field
 */
export function checkLists<Option extends string>(
  agent: { readonly name: string } & Readonly<Record<Option, readonly unknown[]>>,
  options: readonly Option[],
): void {
  for (const option of options) {
    const list: readonly unknown[] = agent[option];
    if (list !== EMPTY_LIST && !Object.isFrozen(list)) throw assignedListError(agent, option);
  }
}

/** True for agents, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && '~eventloom.agent' in value;
}

/**
 * Indexes all descendants of an agent, given its sub-agents, by name.
 * @throws ConfigurationError for a sub-agent that is not an agent or has a parent already, and for a name that two agents share
 */
function indexSubAgents(name: string, subAgents: readonly BaseAgent[]): ReadonlyMap<string, BaseAgent> {
  const owner = `agent "${name}"`;
  const byName = new Map<string, BaseAgent>();
  const add = (agent: BaseAgent): void => {
    if (agent.name === name || byName.has(agent.name)) {
      throw new ConfigurationError(
        `${owner}: two agents of its tree have the name "${agent.name}"; give one of them another name`,
      );
    }
    byName.set(agent.name, agent);
    for (const below of agent.subAgents) add(below);
  };
  for (const [index, agent] of subAgents.entries()) {
    if (!isBaseAgent(agent)) throw wrongOption(owner, `subAgents[${index}]`, 'an agent', agent, '[writer, critic]');
    if (agent.parentAgent) {
      throw new ConfigurationError(
        `${owner}: sub-agent "${agent.name}" has the parent "${agent.parentAgent.name}" already; create an agent object for each place`,
      );
    }
    add(agent);
  }
  return byName;
}

/** Agents to which an agent's model may transfer besides its sub-agents. */
export interface TransferRules {
  /** True if it may transfer to its parent. */
  readonly toParent: boolean;
  /** True if it may transfer to the other sub-agents of its parent. */
  readonly toPeers: boolean;
}

/** The run to describe, and its events. */
export interface RunQuery {
  /** The events of a session, in order, or those of one run. */
  readonly events: readonly Event[];
  readonly invocationId: string;
}

/** Description of a graph agent or a workflow and its runs, as JSON. */
export interface RunDescription {
  readonly graph: {
    readonly name: string;
    readonly nodes: readonly { readonly name: string; readonly kind: string }[];
    readonly edges: readonly { readonly from: string; readonly to: string; readonly route?: string }[];
  };
  /** The runs of the graph in this run of the runner, in the order in which they began. */
  readonly runs: readonly object[];
  /** A Mermaid flow chart with the path of the latest run highlighted. */
  readonly mermaid: string;
}

/** Closes all items one after the other, even if some throw. @throws the first error, after all items were closed */
export async function closeAll(all: Iterable<{ close(): Promise<void> | void }>): Promise<void> {
  const failures: unknown[] = [];
  for (const each of all) {
    try {
      await each.close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Returns the code that creates an agent of a class. */
function exampleOf({ name }: { readonly name: string }): string {
  return `new ${name}({ name: 'helper', … })`;
}
