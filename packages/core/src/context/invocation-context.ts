import type { BaseAgent } from '../agent/base-agent.ts';
import type { RunConfig } from '../agent/run-config.ts';
import { RUN_CONFIG_DEFAULTS } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Content } from '../content/content.ts';
import { ConfigurationError } from '../errors.ts';
import { enclosedBranch } from '../event/branch.ts';
import type { EventParams } from '../event/create-event.ts';
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

/** Parameters of a context. */
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

/** One agent's place in one invocation: what it may read, and the services it works with. */
export class InvocationContext {
  readonly invocation: Invocation;
  readonly invocationId: string;
  readonly session: Session;
  readonly runConfig: RunConfig;
  readonly platform: Platform;
  readonly plugins: PluginManager;
  /** The agent that this context is for; the root agent where none has started yet. */
  readonly agent: BaseAgent;
  /** Fires when the run is aborted, abandoned or loses its session, and when the part of it ends that the agent belongs to. */
  readonly abortSignal: AbortSignal;
  /** True when the agents of this run store how far they come, so that it can be resumed. */
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
   * The recorded work of the agent before the run was interrupted or paused; undefined for an agent that starts. For
   * code that drives agents.
   */
  readonly resumedFrom: RecordedExecution | undefined;
  /** False where no agent has started yet. */
  readonly #hasAgent: boolean;
  readonly #abort: AbortGuard;
  readonly #parent: InvocationContext | undefined;
  #isPaused: boolean;
  /** True when some event is of this execution. */
  #isHeard: boolean;

  private constructor(place: Place) {
    const { invocation, agent, abort } = place;
    this.invocation = invocation;
    this.invocationId = invocation.invocationId;
    this.session = invocation.session;
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

  /** The context in which an invocation starts: no agent runs yet. */
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

  /** The context of an agent that is started from this one. The first agent's execution is the invocation's own. */
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
   * Makes the context in which a sub-invocation starts: a tree of its own, in an enclosure of its own. A sub-invocation
   * ends by itself; its model calls count with those of the run, and while it waits for a person, so does the agent
   * that called it.
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
   * The execution id that agents started from here name as their parent. An execution without events of its own, as of
   * a workflow agent, appears in no event; the one above it is named, so that the call tree in the events is connected.
   */
  get #heardExecutionId(): string {
    return this.#isHeard ? this.executionId : (this.parentExecutionId ?? this.executionId);
  }

  /**
   * Returns the recorded work of an agent that is started here, in a run that is resumed. Restores its transfer as
   * well.
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

  /** Behind which place those begin who are started from here. Of an agent that begins nothing is stored. */
  get #position(): number {
    return this.resumedFrom?.position ?? Infinity;
  }

  #newExecutionId(): string {
    return `e-${this.invocation.platform.newUuid()}`;
  }

  /**
   * Runs an agent, live in a live run, and then each agent that control is transferred to, until one ends without a transfer. A failure
   * is recorded as that of the innermost agent that threw.
   *
   * @param place what differs from this context's own position in the run
   */
  runAgent(agent: BaseAgent, place?: AgentPlace): AsyncGenerator<Event, void, void> {
    return this.invocation.runAgent(this.forAgent(agent, place));
  }

  /**
   * Runs an agent as a world of its own: it sees what it is told and what it says itself, and nobody else sees its events, which
   * are stored in this session. Services, plugins, the abort, the lease and the limit of model calls are those of this run; state
   * is shared. Yields each event once it is stored, and goes on when it is asked for the next. In a run that is resumed, a call that
   * was cut off goes on from its own events.
   *
   * What the agent throws is thrown. Closing the generator stops the agent.
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

  /** Ends the whole invocation after the current event: no further step, agent or model call. Within a sub-invocation, that. */
  endInvocation(): void {
    this.progress.ended = true;
  }

  /**
   * The agent's last checkpoint, in a run that is resumed: the last `actions.agentState` of its own events. Undefined for an agent
   * that begins. What the agent ran after the checkpoint goes on where it was; what it ran before is not run again.
   */
  get agentState(): Readonly<Record<string, unknown>> | undefined {
    return this.resumedFrom?.agentState;
  }

  /** True when the agent, or one that it ran, waits for an answer that comes in a later message, so that it is not done. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Says that the agent waits, and so all that run it. Of no effect in a run that cannot be resumed. */
  pause(): void {
    if (!this.isResumable || this.#isPaused) return;
    this.#isPaused = true;
    this.#parent?.pause();
  }

  /** Counts a model call. @throws LlmCallLimitError when it is one more than `runConfig.maxLlmCalls` */
  countLlmCall(): void {
    this.progress.countLlmCall(this.runConfig.maxLlmCalls ?? RUN_CONFIG_DEFAULTS.maxLlmCalls);
  }

  /**
   * The work, or RunAbortedError as soon as the run is aborted. What the work does afterwards is nobody's concern any more: work
   * that listens to `abortSignal` ends, other work is left to itself.
   */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    return this.#abort.until(work);
  }

  /** Waits for application code as `untilAborted` does; in a live run whose client has left, for a minute at most. */
  whileConnected<T>(work: Promise<T>): Promise<T> {
    return this.invocation.live?.until(work, this) ?? this.untilAborted(work);
  }

  /** An abort for a part of what this agent does, to be given to the agents of that part. `dropAbort` it when the part is over. */
  forkAbort(): AbortGuard {
    return this.#abort.fork();
  }

  dropAbort(fork: AbortGuard): void {
    this.#abort.drop(fork);
  }

  /** This place with an abort of its own, a fork: for one call that can be stopped while the agent goes on. */
  withAbort(abort: AbortGuard): InvocationContext {
    return this.#with({ abort });
  }

  /** This place in an invocation that differs from its own: for those who run agents beside each other, each with a session of its own. */
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

  /** Says that an event which tells of this error was yielded, so that the runner adds none. */
  markReported(error: unknown): void {
    this.progress.reportedError = error;
  }

  /** True when an event already tells of this error. */
  isReported(error: unknown): boolean {
    return error !== undefined && this.progress.reportedError === error;
  }

  /** @throws RunAbortedError when the run was aborted */
  throwIfAborted(): void {
    this.#abort.check();
  }

  /** An event of this context's agent, with its ids and the time. */
  createEvent(params: EventParams = {}): Event {
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
