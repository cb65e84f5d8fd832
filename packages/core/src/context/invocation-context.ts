import type { BaseAgent } from '../agent/base-agent.ts';
import type { RunConfig } from '../agent/run-config.ts';
import { RUN_CONFIG_DEFAULTS } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Content } from '../content/content.ts';
import { ConfigurationError, InvalidRequestError } from '../errors.ts';
import { enclosedBranch } from '../event/branch.ts';
import { checkEventFields, type EventParams } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { createEventActions } from '../event/event-actions.ts';
import type { BaseLiveRequestQueue } from '../live/live-request-queue.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { Platform } from '../platform/platform.ts';
import type { PluginManager } from '../plugin/plugin-manager.ts';
import type { Session } from '../session/session.ts';
import type { BaseTool } from '../tool/base-tool.ts';
import type { AbortGuard } from './abort-guard.ts';
import type { Invocation } from './invocation.ts';
import type { RecordedExecution } from './recorded-invocation.ts';
import { InvocationProgress } from './invocation-progress.ts';
import type { SubInvocation } from './sub-invocation.ts';

/** The agent's position in the run: only what differs from its parent's. */
export interface AgentPlace {
  readonly branch?: string | undefined;
  /** The abort of the part of the run that the agent belongs to: a fork of the parent's. */
  readonly abort?: AbortGuard | undefined;
  /**
   * Tools that the agent may call in this run in addition to its own. Agents that it runs or transfers to do not get
   * them.
   */
  readonly tools?: readonly BaseTool[] | undefined;
  /** Instructions that follow the agent's own in this run. Agents that it runs or transfers to do not get them. */
  readonly instructions?: readonly string[] | undefined;
}

/** Parameters of the private constructor. */
interface Place extends AgentPlace {
  readonly invocation: Invocation;
  readonly progress: InvocationProgress;
  readonly agent: BaseAgent | undefined;
  readonly executionId: string;
  readonly parentExecutionId: string | undefined;
  readonly abort: AbortGuard;
  readonly isHeard: boolean;
  readonly parent: InvocationContext | undefined;
  readonly resumedFrom: RecordedExecution | undefined;
}

const NONE: readonly never[] = [];

/** The view of each session in which its state cannot be written. */
const VIEWS: WeakMap<Session, Session> = new WeakMap();

const READ_ONLY: ProxyHandler<object> = {
  set: refuseWrite,
  deleteProperty: refuseWrite,
  defineProperty: refuseWrite,
};

function refuseWrite(_state: object, key: string | symbol): never {
  const name = JSON.stringify(String(key));
  throw new InvalidRequestError(
    `session.state is read-only, key ${name}: in a tool or a callback write context.state.set(${name}, value); in an agent yield context.createEvent({ actions: { stateDelta: { ${name}: value } } })`,
  );
}

/** A view of a session that shows all its changes, and whose state throws when it is written. */
function withReadOnlyState(session: Session): Session {
  const known = VIEWS.get(session);
  if (known) return known;
  const state = new Proxy(session.state, READ_ONLY);
  const view = new Proxy(session, {
    get: (target, key) => (key === 'state' ? state : Reflect.get(target, key)),
  });
  VIEWS.set(session, view);
  VIEWS.set(view, view);
  return view;
}

/**
 * The context of one agent in one invocation: the session, the run's config, the services, and ways to run other agents.
 * Passed to `runAsyncImpl` of a custom agent.
 *
 * @example
 * class Greeter extends BaseAgent {
 *   protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
 *     yield context.createEvent({ content: { role: 'model', parts: [{ text: `Hello, ${context.userId}.` }] } });
 *   }
 * }
 */
export class InvocationContext {
  readonly invocation: Invocation;
  readonly invocationId: string;
  readonly session: Session;
  readonly runConfig: RunConfig;
  readonly platform: Platform;
  readonly plugins: PluginManager;
  /** The agent that this context belongs to; the root agent before any agent has started. */
  readonly agent: BaseAgent;
  /**
   * Fires when the run is aborted, when its caller stops reading, or when the run loses its session's lease. Fires as
   * well when the part of the run that the agent belongs to is stopped, for example by a failed sibling in a
   * ParallelAgent.
   */
  readonly abortSignal: AbortSignal;
  /** True if the agents of this run store their progress, so that the run can be resumed. See `RunConfig.resumable`. */
  readonly isResumable: boolean;
  readonly branch: string | undefined;
  readonly executionId: string;
  readonly parentExecutionId: string | undefined;
  /** Tools that the caller of the agent added for this run. */
  readonly extraTools: readonly BaseTool[];
  /** Instructions that the caller of the agent added for this run. */
  readonly extraInstructions: readonly string[];
  /**
   * Progress of the invocation: one object that all of its contexts share. For code that drives agents and commits
   * their events.
   */
  readonly progress: InvocationProgress;
  /**
   * The agent's stored events from before the run was interrupted or paused; undefined for an agent that starts fresh.
   * For code that drives agents.
   */
  readonly resumedFrom: RecordedExecution | undefined;
  /** False before any agent has started. */
  readonly #hasAgent: boolean;
  readonly #abort: AbortGuard;
  readonly #parent: InvocationContext | undefined;
  #isPaused: boolean;
  /** True once this execution has an event. */
  #isHeard: boolean;

  private constructor(place: Place) {
    const { invocation, agent, abort } = place;
    this.invocation = invocation;
    this.invocationId = invocation.invocationId;
    this.session = withReadOnlyState(invocation.session);
    this.runConfig = invocation.runConfig;
    this.isResumable = this.runConfig.resumable === true;
    this.platform = invocation.platform;
    this.plugins = invocation.plugins;
    this.agent = agent ?? invocation.rootAgent;
    this.#hasAgent = agent !== undefined;
    this.#abort = abort;
    this.abortSignal = abort.signal;
    this.branch = place.branch;
    this.executionId = place.executionId;
    this.parentExecutionId = place.parentExecutionId;
    this.extraTools = place.tools ?? NONE;
    this.extraInstructions = place.instructions ?? NONE;
    this.progress = place.progress;
    this.resumedFrom = place.resumedFrom;
    this.#parent = place.parent;
    this.#isPaused = false;
    this.#isHeard = place.isHeard;
  }

  /** Creates the context in which an invocation starts, before any agent runs. */
  static create(invocation: Invocation): InvocationContext {
    return new InvocationContext({
      invocation,
      progress: new InvocationProgress(invocation.resumedFrom?.llmCalls),
      agent: undefined,
      executionId: invocation.invocationId,
      parentExecutionId: undefined,
      abort: invocation.abort,
      isHeard: true,
      parent: undefined,
      resumedFrom: undefined,
    });
  }

  /** Creates the context of an agent that is started from this context. The first agent's execution id is the invocation id. */
  forAgent(agent: BaseAgent, place: AgentPlace = {}): InvocationContext {
    const first = !this.#hasAgent;
    const branch = place.branch ?? this.branch;
    const resumedFrom = this.invocation.resumedFrom && this.#recordedExecutionOf(agent, branch);
    return new InvocationContext({
      invocation: this.invocation,
      progress: this.progress,
      agent,
      executionId: first ? this.executionId : (resumedFrom?.executionId ?? this.#newExecutionId()),
      parentExecutionId: first ? this.parentExecutionId : this.#heardExecutionId,
      isHeard: first || resumedFrom !== undefined,
      parent: this,
      resumedFrom,
      branch,
      abort: place.abort ?? this.#abort,
      tools: place.tools,
      instructions: place.instructions,
    });
  }

  /**
   * Creates the context in which a sub-invocation starts: a separate agent tree on an enclosed branch. Ending the
   * sub-invocation does not end the run. Its model calls count towards the run's limit. While it waits for a person, the
   * agent that called it waits as well.
   */
  forSubInvocation({ agent, callId, abort }: SubInvocation, invocation: Invocation): InvocationContext {
    const branch = enclosedBranch(this.branch, agent.name, callId);
    const parentExecutionId = this.#heardExecutionId;
    const resumedFrom = invocation.resumedFrom?.claim({ parentExecutionId, branch, after: this.#position });
    return new InvocationContext({
      invocation,
      progress: new InvocationProgress(0, this.progress),
      agent: undefined,
      resumedFrom,
      executionId: resumedFrom?.executionId ?? this.#newExecutionId(),
      parentExecutionId,
      isHeard: true,
      parent: this,
      branch,
      abort: abort ?? this.#abort,
    });
  }

  /**
   * The `parentExecutionId` of agents that are started from here. An execution without events, such as that of a workflow
   * agent, appears in no event. Its parent's id is used instead, so that the call tree in the events stays connected.
   */
  get #heardExecutionId(): string {
    return this.#isHeard ? this.executionId : (this.parentExecutionId ?? this.executionId);
  }

  /**
   * Returns the stored execution of an agent that is started here in a resumed run; undefined if it has none. Restores
   * the agent's transfer as well.
   */
  #recordedExecutionOf(agent: BaseAgent, branch: string | undefined): RecordedExecution | undefined {
    const { resumedFrom: recorded } = this.invocation;
    const resumedFrom = this.#hasAgent
      ? recorded?.claim({
          parentExecutionId: this.#heardExecutionId,
          agentName: agent.name,
          branch,
          after: this.#position,
        })
      : recorded?.claimById(this.executionId, agent.name);
    for (const event of resumedFrom?.events ?? []) this.progress.noteTransfer(event);
    return resumedFrom;
  }

  /** Position after which the stored executions of child agents begin. Infinity for an agent that starts fresh: it has none. */
  get #position(): number {
    return this.resumedFrom?.position ?? Infinity;
  }

  #newExecutionId(): string {
    return `e-${this.invocation.platform.newUuid()}`;
  }

  /**
   * Runs an agent, and then each agent that control is transferred to, until one ends without a transfer. In a live run
   * the agents run live. A failure is attributed to the innermost agent that threw.
   *
   * @param place the values that differ from this context's position in the run
   */
  runAgent(agent: BaseAgent, place?: AgentPlace): AsyncGenerator<Event, void, void> {
    return this.invocation.runAgent(this.forAgent(agent, place));
  }

  /**
   * Runs an agent in isolation: it sees only the message it gets and its own events, and no other agent sees its events.
   * The events are stored in this session. The agent uses this run's services, plugins, abort signal, lease and limit of
   * model calls, and shares its state. Yields each event after it is stored; the agent continues when the next event is
   * requested. In a resumed run, an interrupted call continues from its own stored events.
   *
   * Errors of the agent are thrown. Closing the generator stops the agent.
   * @throws ConfigurationError outside a runner
   */
  runSubInvocation(request: SubInvocation): AsyncGenerator<Event, void, void> {
    const { runSubInvocation } = this.invocation;
    if (!runSubInvocation)
      throw new ConfigurationError('runSubInvocation: only a runner can run an agent within a run');
    return runSubInvocation(this, request);
  }

  get appName(): string {
    return this.session.appName;
  }

  get userId(): string {
    return this.session.userId;
  }

  get userContent(): Content | undefined {
    return this.invocation.userContent;
  }

  /** The client's input of a live run; undefined in other runs. */
  get liveRequestQueue(): BaseLiveRequestQueue | undefined {
    return this.invocation.live?.queue;
  }

  get artifactService(): BaseArtifactService | undefined {
    return this.invocation.artifactService;
  }

  get memoryService(): BaseMemoryService | undefined {
    return this.invocation.memoryService;
  }

  /** True once `endInvocation` was called. */
  get isEnded(): boolean {
    return this.progress.ended;
  }

  /**
   * Ends the invocation after the current event: no further step, agent or model call runs. Within a sub-invocation it
   * ends only the sub-invocation.
   */
  endInvocation(): void {
    this.progress.ended = true;
  }

  /**
   * The agent's last checkpoint in a resumed run: the last `actions.agentState` of its own events. Undefined for an agent
   * that starts fresh. Agents that it started after the checkpoint continue where they were; agents that it started before
   * the checkpoint are not run again.
   */
  get agentState(): Readonly<Record<string, unknown>> | undefined {
    return this.resumedFrom?.agentState;
  }

  /** True if the agent, or an agent that it ran, waits for an answer that comes in a later message. Such an agent is not done. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Marks the agent, and every agent that runs it, as waiting for a later message. No effect in a run that is not resumable. */
  pause(): void {
    if (!this.isResumable || this.#isPaused) return;
    this.#isPaused = true;
    this.#parent?.pause();
  }

  /** Counts a model call. @throws LlmCallLimitError if `runConfig.maxLlmCalls` calls were made already */
  countLlmCall(): void {
    this.progress.countLlmCall(this.runConfig.maxLlmCalls ?? RUN_CONFIG_DEFAULTS.maxLlmCalls);
  }

  /**
   * Resolves or rejects as `work` does, or rejects with RunAbortedError as soon as the run is aborted. The abort does not
   * stop the work itself: pass `abortSignal` to it for that. Its later result or error is ignored.
   */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    return this.#abort.until(work);
  }

  /** Waits for application code as `untilAborted` does. In a live run whose client has disconnected it waits for at most one minute. */
  whileConnected<T>(work: Promise<T>): Promise<T> {
    return this.invocation.live?.until(work, this) ?? this.untilAborted(work);
  }

  /** Creates an abort guard for a part of the agent's work, to be passed to the agents of that part. Call `dropAbort` when the part is complete. */
  forkAbort(): AbortGuard {
    return this.#abort.fork();
  }

  /** Releases a guard of `forkAbort`: it no longer fires with the run. */
  dropAbort(fork: AbortGuard): void {
    this.#abort.drop(fork);
  }

  /** Returns a copy of this context with another abort guard, for one call that can be stopped while the agent continues. */
  withAbort(abort: AbortGuard): InvocationContext {
    return this.#with({ abort });
  }

  /** Returns a copy of this context in another invocation, for code that runs agents at the same time, each with its own session object. */
  withInvocation(invocation: Invocation): InvocationContext {
    return this.#with({ invocation, parent: this });
  }

  #with(changes: Partial<Place>): InvocationContext {
    return new InvocationContext({
      invocation: this.invocation,
      progress: this.progress,
      agent: this.#hasAgent ? this.agent : undefined,
      branch: this.branch,
      executionId: this.executionId,
      parentExecutionId: this.parentExecutionId,
      tools: this.extraTools,
      instructions: this.extraInstructions,
      abort: this.#abort,
      isHeard: this.#isHeard,
      parent: this.#parent,
      resumedFrom: this.resumedFrom,
      ...changes,
    });
  }

  /** Notes that an event for this error was yielded, so that the runner adds none. */
  markReported(error: unknown): void {
    this.progress.reportedError = error;
  }

  /** True if an event for this error was yielded already. */
  isReported(error: unknown): boolean {
    return error !== undefined && this.progress.reportedError === error;
  }

  /** @throws RunAbortedError when the run was aborted */
  throwIfAborted(): void {
    this.#abort.check();
  }

  /**
   * Creates an event of this context's agent. Fills in the id, invocation id, author, timestamp, branch and execution ids.
   * Ignores the actions of a partial event.
   */
  createEvent(params: EventParams = {}): Event {
    checkEventFields('createEvent', params);
    const { platform, branch, parentExecutionId } = this;
    const nowMs = platform.now();
    this.#isHeard = true;
    const event: { -readonly [K in keyof Event]: Event[K] } = {
      ...params,
      id: params.id ?? platform.newEventId(nowMs),
      invocationId: this.invocationId,
      author: params.author ?? (this.#hasAgent ? this.agent.name : this.appName),
      timestamp: params.timestamp ?? nowMs / 1000,
      executionId: this.executionId,
      actions: createEventActions(params.partial === true ? undefined : params.actions),
    };
    if (branch !== undefined) event.branch = branch;
    if (parentExecutionId !== undefined) event.parentExecutionId = parentExecutionId;
    return event;
  }
}
