import type { AgentPlace, InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import type { BaseLiveRequestQueue } from '../live/live-request-queue.ts';
import {
  type AfterAgentCallback,
  type BeforeAgentCallback,
  type OnAgentErrorCallback,
  runWithCallbacks,
  type SingleAgentCallback,
  type SingleAgentErrorCallback,
  toList,
} from './agent-callbacks.ts';
import type { OptionNames } from './options.ts';
import { runResumable } from './run-resumable.ts';
import { describeKind, isRecord } from '../content/json.ts';

/** Config that every agent has. */
export interface BaseAgentConfig {
  /** An identifier, unique in its tree, not `user`. */
  readonly name: string;
  /** The purpose of the agent in a line or two. Models of other agents read it to decide about transfers and calls. */
  readonly description?: string;
  /** The agents below this one. Each has one place in one tree. */
  readonly subAgents?: readonly BaseAgent[];
  readonly beforeAgentCallback?: BeforeAgentCallback;
  readonly afterAgentCallback?: AfterAgentCallback;
  readonly onAgentErrorCallback?: OnAgentErrorCallback;
}

/** The option names of every agent, for the check of an agent class that has more. */
export const BASE_AGENT_OPTIONS: OptionNames<BaseAgentConfig> = {
  name: true,
  description: true,
  subAgents: true,
  beforeAgentCallback: true,
  afterAgentCallback: true,
  onAgentErrorCallback: true,
};

const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;
const NO_AGENTS: ReadonlyMap<string, BaseAgent> = new Map();

/**
 * An agent: given an invocation, it yields events. The runner commits each one before it asks for the next, so what follows a
 * `yield` sees the committed state. An agent object is never changed by a run; one serves any number of them at once.
 *
 * Agents stand in a tree, which is complete when its top is constructed. An agent runs others with `yield* other.runAsync(context)`.
 */
export abstract class BaseAgent {
  readonly name: string;
  readonly description: string;
  /** In the order they were given. */
  readonly subAgents: readonly BaseAgent[];
  readonly beforeAgentCallback: readonly SingleAgentCallback[];
  readonly afterAgentCallback: readonly SingleAgentCallback[];
  readonly onAgentErrorCallback: readonly SingleAgentErrorCallback[];
  readonly #below: ReadonlyMap<string, BaseAgent>;
  #parent: BaseAgent | undefined;

  /**
   * Makes an agent.
   * @throws ConfigurationError for a name that is not an identifier or is `user`, for a sub-agent that is not an agent
   * or has a parent already, and for a name that two agents of the tree have
   */
  constructor(config: BaseAgentConfig) {
    if (!isRecord(config))
      throw new ConfigurationError(
        `${new.target.name}: expected an object of options, got ${config === undefined ? 'nothing' : describeKind(config)}; write new ${new.target.name}({ name: 'helper', … })`,
      );
    if (typeof config.name !== 'string' || !IDENTIFIER.test(config.name)) {
      throw new ConfigurationError(
        `agent name ${JSON.stringify(config.name)}: must be an identifier (letters, digits, _ and $, not starting with a digit)`,
      );
    }
    if (config.name === 'user')
      throw new ConfigurationError('agent name "user": is reserved for the events of the user; choose another name');
    this.name = config.name;
    this.description = config.description ?? '';
    this.subAgents = toList(config.subAgents);
    this.beforeAgentCallback = toList(config.beforeAgentCallback);
    this.afterAgentCallback = toList(config.afterAgentCallback);
    this.onAgentErrorCallback = toList(config.onAgentErrorCallback);
    this.#below = this.subAgents.length > 0 ? indexSubAgents(config.name, this.subAgents) : NO_AGENTS;
    for (const agent of this.subAgents) agent['~eventloom.agent.adopt'](this);
  }

  get '~eventloom.agent'(): true {
    return true;
  }

  /** Called by the parent that the agent is given to, which may be of another loaded copy of this package. */
  '~eventloom.agent.adopt'(parent: BaseAgent): void {
    this.#parent = parent;
  }

  /** The agent that this one is a sub-agent of; undefined at the top of a tree. */
  get parentAgent(): BaseAgent | undefined {
    return this.#parent;
  }

  /**
   * True if the agent has completed once this event of it, or of an agent below it, is stored. If the process of a run that cannot be resumed ends
   * right after its last event, the run is recorded as completed because of it. Default: false, the agent may have more to do.
   */
  isDoneAfter(_event: Event): boolean {
    return false;
  }

  /** The top of the agent's tree; itself when it has no parent. */
  get rootAgent(): BaseAgent {
    return this.#parent ? this.#parent.rootAgent : this;
  }

  /** This agent or the one below it that has the name; undefined when there is none. */
  findAgent(name: string): BaseAgent | undefined {
    return name === this.name ? this : this.#below.get(name);
  }

  /** The agent below this one that has the name, at any depth; undefined when there is none. */
  findSubAgent(name: string): BaseAgent | undefined {
    return this.#below.get(name);
  }

  /** The transfers that the agent's own model may make; undefined for an agent without a model. */
  get transferRules(): TransferRules | undefined {
    return undefined;
  }

  /**
   * Schema of the arguments when the agent is called as a tool, of any kind that tools accept. Undefined: it takes a
   * text.
   */
  get inputSchema(): unknown {
    return undefined;
  }

  /**
   * True for an agent that makes all of its events with `context.createEvent`, or hands on those of others. Events of an agent
   * that does not say so get what they lack (author, execution, branch) on their way, which costs them a generator.
   */
  protected get makesCompleteEvents(): boolean {
    return false;
  }

  /** True for an agent that stores by itself how far it comes, when a run can be resumed. For others it is stored that they began. */
  protected get storesProgress(): boolean {
    return false;
  }

  /** The agent's work: yields events until it is done. */
  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;

  /**
   * The agent's work in a live run, for an agent that has a way of its own: converses with the client of the queue until it is done, or
   * the queue is closed and read. Agents that it runs with `runAsync` run live as well.
   */
  protected runLiveImpl?(context: InvocationContext, queue: BaseLiveRequestQueue): AsyncGenerator<Event, void, void>;

  /** True for an agent that can run live: one with `runLiveImpl`, or one whose model the run's live support speaks with. */
  get canRunLive(): boolean {
    return this.runLiveImpl !== undefined;
  }

  /** Agents that it runs in worlds of their own, as nodes or as tools. They are not in its tree. */
  get calledAgents(): readonly BaseAgent[] {
    return [];
  }

  /** Describes a run of this agent from stored events, for display; undefined for an agent without a description. */
  describeRun(_query: RunQuery): RunDescription | undefined {
    return undefined;
  }

  /** Releases what the agent and those below it hold open, all that can be when some of it fails. Nothing runs them any more afterwards. */
  close(): Promise<void> | void {
    return closeAll(this.subAgents);
  }

  /**
   * Runs the agent within the run of another agent, and then each agent that control is transferred to. The same as
   * `parentContext.runAgent(this, place)`.
   *
   * @param place what differs from the parent's position in the run
   */
  runAsync(parentContext: InvocationContext, place?: AgentPlace): AsyncGenerator<Event, void, void> {
    return parentContext.runAgent(this, place);
  }

  /**
   * Runs the agent in a context of its own: callbacks before, its work, callbacks after. For the runner's agent driver;
   * an agent runs another one with `runAsync`.
   */
  runIn(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { plugins } = context;
    const hasCallbacks =
      this.beforeAgentCallback.length + this.afterAgentCallback.length + this.onAgentErrorCallback.length > 0 ||
      plugins.has('beforeAgentCallback') ||
      plugins.has('afterAgentCallback') ||
      plugins.has('onAgentErrorCallback');
    // Every generator between the model and the caller costs each chunk about 100 ns, so there is none without a reason.
    if (!hasCallbacks && !context.isResumable) return this.#work(context);
    const work = (): AsyncGenerator<Event, void, void> => this.#work(context);
    if (!context.isResumable) return runWithCallbacks(this, context, work);
    return runResumable(this, context, work, { hasCallbacks, storesProgress: this.storesProgress });
  }

  #work(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const { live, rootAgent } = context.invocation;
    live?.checkAgent(this, rootAgent);
    const events = live
      ? (this.runLiveImpl?.(context, live.queue) ?? live.runAgent(this, context))
      : this.runAsyncImpl(context);
    // The runner completes the events of the agent that a run begins with.
    const isFirst = context.parentExecutionId === undefined && context.branch === undefined;
    return isFirst || this.makesCompleteEvents ? events : completed(events, context);
  }
}

async function* completed(
  events: AsyncGenerator<Event, void, void>,
  context: InvocationContext,
): AsyncGenerator<Event, void, void> {
  for await (const event of events) yield completedEvent(event, context);
}

/** An event that does not say whose it is, with all that it lacks. Others, and what is no event, are the runner's to look at. */
function completedEvent(event: Event, context: InvocationContext): Event {
  if (typeof event !== 'object' || event === null || event.executionId !== undefined) return event;
  const { id, author, timestamp, ...said } = event;
  return context.createEvent({
    ...said,
    ...(id ? { id } : {}),
    ...(author ? { author } : {}),
    ...(timestamp ? { timestamp } : {}),
  });
}

/** True for agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && '~eventloom.agent' in value;
}

/**
 * Indexes all descendants of an agent, given its sub-agents, by name.
 * @throws ConfigurationError for a sub-agent that is no agent or has a parent already, and for a name that two agents have
 */
export function indexSubAgents(name: string, subAgents: readonly BaseAgent[]): ReadonlyMap<string, BaseAgent> {
  const owner = `agent "${name}"`;
  const byName = new Map<string, BaseAgent>();
  const add = (agent: BaseAgent): void => {
    if (agent.name === name || byName.has(agent.name)) {
      throw new ConfigurationError(
        `${owner}: two agents of its tree have the name "${agent.name}"; give one of them another`,
      );
    }
    byName.set(agent.name, agent);
    for (const below of agent.subAgents) add(below);
  };
  for (const agent of subAgents) {
    if (!isBaseAgent(agent))
      throw new ConfigurationError(`${owner}: subAgents must be agents, one is ${describeKind(agent)}`);
    if (agent.parentAgent) {
      throw new ConfigurationError(
        `${owner}: sub-agent "${agent.name}" has the parent "${agent.parentAgent.name}" already; create an agent object for each place`,
      );
    }
    add(agent);
  }
  return byName;
}

/** The agents to which an agent's model and tools may transfer, besides its sub-agents. */
export interface TransferRules {
  readonly toParent: boolean;
  readonly toPeers: boolean;
}

/** The run to describe, and its events. */
export interface RunQuery {
  /** The events of a session, in order, or those of one run. */
  readonly events: readonly Event[];
  readonly invocationId: string;
}

/** A graph agent's description of a run, as JSON. */
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

/** Closes all, one after the other, even if some throw. @throws the first error */
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
