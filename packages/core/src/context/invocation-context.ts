import type { BaseAgent } from '../agent/base-agent.ts';
import { readOnlyError } from '../agent/options.ts';
import type { RunConfig } from '../agent/run-config.ts';
import { SessionArtifactService } from '../artifact/session-artifact-service.ts';
import type { Content } from '../content/content.ts';
import { describeKind } from '../content/json.ts';
import { ConfigurationError } from '../errors.ts';
import { enclosedBranch } from '../event/branch.ts';
import type { BaseCredentialService } from '../credential/credential-service.ts';
import { createAgentEvent, type EventParams } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import type { EventActions } from '../event/event-actions.ts';
import type { ObservedOperation, TraceHeaders } from '../instrumentation/instrumentation.ts';
import type { BaseLiveRequestQueue } from '../live/live-request-queue.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { Platform } from '../platform/platform.ts';
import type { PluginManager } from '../plugin/plugin-manager.ts';
import { withReadOnlyState } from '../state/state.ts';
import { type Session, sessionKeyOf } from '../session/session.ts';
import type { BaseSessionService } from '../session/session-service.ts';
import type { BaseTool } from '../tool/base-tool.ts';
import type { AbortGuard } from './abort-guard.ts';
import type { Invocation } from './invocation.ts';
import type { Execution } from './invocation-log.ts';
import { InvocationProgress } from './invocation-progress.ts';
import type { SubInvocation } from './sub-invocation.ts';

/** The agent's place in the run: only what differs from its parent's. */
export interface AgentPlace {
  readonly branch?: string | undefined;
  /** Scope of the agent's events: agents with another one do not see them. Default: the parent's. */
  readonly isolationScope?: string | undefined;
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
  readonly hasEvents: boolean;
  readonly parent: InvocationContext | undefined;
  readonly resumedFrom: Execution | undefined;
  /** The observed operation that the agent runs in. Default: none, the run is not observed. */
  readonly operation?: ObservedOperation | undefined;
}

const NONE: readonly never[] = [];

// The members are in the order of those who use them:
//
// | members                                | who uses them                                                                             |
// | -------------------------------------- | ----------------------------------------------------------------------------------------- |
// | `invocationId` to `abortSignal`        | agents, callbacks and tools: the run, and the agent's place in it                         |
// | `invocation` to `lastEvent` (internal) | the runner, and packages whose agents run models, tools or other agents                   |
// | `session` to `traceHeaders`            | agents, callbacks and tools: what the run has                                             |
// | `createEvent` to `whileConnected`      | agents: what they do. The runner reads `isPaused` and `endInvocation`                      |
// | `create` to `visibleExecutionId`       | the runner, and packages that run agents themselves: how one context comes from another    |

/**
 * Everything that a custom agent needs while it runs: the session, the user's message, the services, and `createEvent`. The runner makes
 * one for each run of an agent and passes it to `runAsyncImpl`; plugins get it too. Tools and callbacks get a `ToolContext` or a
 * `CallbackContext`, which can write state.
 *
 * State is read in `session.state`, and written with the event that the agent yields: `actions: { stateDelta: { key: value } }`.
 *
 * @example
 * class Greeter extends BaseAgent {
 *   protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void> {
 *     yield context.createEvent({ content: { role: 'model', parts: [{ text: `Hello, ${context.userId}.` }] } });
 *   }
 * }
 */
export class InvocationContext {
  /** Id of the run: the same in all of its events. */
  readonly invocationId: string;
  /** The options of the run. */
  readonly runConfig: RunConfig;
  /** True if the agents of this run store their progress, so that the run can be resumed. See `RunConfig.resumable`. */
  readonly isResumable: boolean;
  /**
   * Clock, ids, random numbers and timers: use them in place of `Date.now`, `Math.random` and `setTimeout`, so that tests can replace
   * them.
   */
  readonly platform: Platform;
  /** The agent that runs; the root agent before any agent has started. */
  readonly agent: BaseAgent;
  /** The branch that the agent's events get: see `Event.branch`. Undefined outside of a ParallelAgent or a called agent. */
  readonly branch: string | undefined;
  /** Id of this execution of the agent, in all of its events. */
  readonly executionId: string;
  /** Id of the execution that started this one; undefined for the first agent. */
  readonly parentExecutionId: string | undefined;
  /**
   * Fires when the agent has to stop: the run was aborted, its caller stopped reading, another process took the session over, or a sibling
   * in a ParallelAgent failed. Pass it to `fetch` and the like.
   */
  readonly abortSignal: AbortSignal;
  /** Data and services that all agents of the run share. For code that drives agents. @internal */
  readonly invocation: Invocation;
  /**
   * Progress of the invocation: one object that all of its contexts share. For code that drives agents and commits
   * their events.
   * @internal
   */
  readonly progress: InvocationProgress;
  /** The plugins of the runner. For code that drives agents. @internal */
  readonly plugins: PluginManager;
  /** The context that this one was started from; undefined for the first one of a run. @internal */
  readonly parent: InvocationContext | undefined;
  /**
   * The agent's stored events from before the run was interrupted or paused; undefined for an agent that starts fresh.
   * For code that drives agents.
   * @internal
   */
  readonly resumedFrom: Execution | undefined;
  /** The abort of the part of the run that the agent belongs to. `fork` it for a part of the agent's work. @internal */
  readonly abortGuard: AbortGuard;
  /** Scope of the agent: it sees the events of this scope, and those without one. @internal */
  readonly isolationScope: string | undefined;
  /** Tools that the caller of the agent added for this run. @internal */
  readonly extraTools: readonly BaseTool[];
  /** Instructions that the caller of the agent added for this run. @internal */
  readonly extraInstructions: readonly string[];
  /** Observes the work of this context: the run, the agent, or the tool call that runs an agent. @internal */
  operation: ObservedOperation | undefined;
  /** The last event of the agent, if the agent announced it before it yields it. @internal */
  lastEvent: Event | undefined = undefined;
  /** False before any agent has started. */
  readonly #hasAgent: boolean;
  /** True once this execution has an event. */
  #hasEvents: boolean;
  /** True while this agent itself waits. */
  #isWaiting = false;
  /** Number of agents that wait: this one, and those that it runs. */
  #pauses = 0;

  private constructor(place: Place) {
    // Programs in JavaScript can call the constructor.
    if (place?.invocation === undefined || place.abort === undefined)
      throw new ConfigurationError(
        'InvocationContext: a runner creates the contexts of its runs; write yield* agent.runAsync(context) to run another agent, and testContext() of @eventloom/testing in a test',
      );
    const { invocation, agent, abort } = place;
    this.invocation = invocation;
    this.invocationId = invocation.invocationId;
    this.runConfig = invocation.runConfig;
    this.isResumable = this.runConfig.resumable === true;
    this.platform = invocation.platform;
    this.plugins = invocation.plugins;
    this.agent = agent ?? invocation.rootAgent;
    this.#hasAgent = agent !== undefined;
    this.abortGuard = abort;
    this.abortSignal = abort.signal;
    this.branch = place.branch;
    this.isolationScope = place.isolationScope;
    this.executionId = place.executionId;
    this.parentExecutionId = place.parentExecutionId;
    this.extraTools = place.tools ?? NONE;
    this.extraInstructions = place.instructions ?? NONE;
    this.progress = place.progress;
    this.resumedFrom = place.resumedFrom;
    this.operation = place.operation;
    this.parent = place.parent;
    this.#hasEvents = place.hasEvents;
  }

  /**
   * The session with its events and state. Committed events appear in it at once. Its `state` is read-only: a write
   * throws an InvalidRequestError. It is a proxy, which `structuredClone` refuses: copy the state with
   * `structuredClone({ ...context.session.state })`.
   */
  get session(): Session {
    return withReadOnlyState(this.invocation.session);
  }

  /** Name of the app, as given to the runner. */
  get appName(): string {
    return this.invocation.session.appName;
  }

  /** Id of the user that the session belongs to. */
  get userId(): string {
    return this.invocation.session.userId;
  }

  /** The message that started the run; undefined for a run without one. */
  get userContent(): Content | undefined {
    return this.invocation.userContent;
  }

  set userContent(_content: never) {
    throw readOnlyError('context', 'userContent', 'write onUserMessageCallback in a plugin to change the message');
  }

  /** The client's input of a live run; undefined in other runs. */
  get liveRequestQueue(): BaseLiveRequestQueue | undefined {
    return this.invocation.live?.queue;
  }

  /** Throws: the context of an agent has no `state`, unlike those of tools and callbacks. @internal */
  get state(): never {
    throw new ConfigurationError(
      'context.state: an agent reads context.session.state.city, and writes with yield context.createEvent({ actions: { stateDelta: { city } } })',
    );
  }

  /** The runner's artifact service for this session: `saveArtifact({ filename, artifact })`. Undefined if the runner has none. */
  get artifactService(): SessionArtifactService | undefined {
    const { artifactService, session } = this.invocation;
    return artifactService && new SessionArtifactService(artifactService, sessionKeyOf(session));
  }

  /**
   * The runner's session service, with which an agent or a callback reads what is stored: `getSession`, `listSessions`. Only the run itself
   * appends to its session; write `yield context.createEvent(…)`. Undefined in a context that no runner made.
   */
  get sessionService(): BaseSessionService | undefined {
    return this.invocation.sessionService;
  }

  /** The runner's memory service; undefined if it has none. */
  get memoryService(): BaseMemoryService | undefined {
    return this.invocation.memoryService;
  }

  /** The runner's credential service; undefined if it has none. */
  get credentialService(): BaseCredentialService | undefined {
    return this.invocation.credentialService;
  }

  /**
   * The progress that the agent of a resumed run stored last: the `actions: { agentState: { … } }` of its newest event that has one.
   * Undefined for an agent that starts from its beginning. Agents that it ran before storing this are not run again; agents that it
   * started afterwards continue where they were.
   */
  get agentState(): Readonly<Record<string, unknown>> | undefined {
    return this.resumedFrom?.agentState;
  }

  /**
   * Headers with which a request continues the trace of the agent:
   * `fetch(url, { headers: { ...context.traceHeaders } })`. Empty if the run is not traced.
   */
  get traceHeaders(): TraceHeaders {
    return this.operation?.traceHeaders() ?? {};
  }

  /**
   * Creates an event of this agent, to be yielded: `yield context.createEvent({ content: { role: 'model', parts: [{ text }] } })`. Fills in
   * the id, the author, the timestamp and the other ids. All fields are optional. The actions of a partial event are left out.
   * @param actions the actions of the event, used as they are. Default: a copy of those in `params`
   * @param nowMs the current time, if the caller knows it already
   * @throws InvalidEventError for a field that belongs elsewhere, such as `text`, and for a `content` that is text
   */
  createEvent(params: EventParams = {}, actions?: EventActions, nowMs: number = this.platform.now()): Event {
    this.#hasEvents = true;
    return createAgentEvent(this, this.#hasAgent ? this.agent.name : this.appName, params, actions, nowMs);
  }

  /**
   * Runs another agent, and then each agent that it hands the conversation over to, until one ends without handing over. Yields their
   * events: `yield* context.runAgent(other)`. In a live run the agents run live. Errors of the agents are thrown.
   *
   * @param place values for the agent that differ from this context, such as another branch
   * @internal
   */
  runAgent(agent: BaseAgent, place?: AgentPlace): AsyncGenerator<Event, void, void> {
    return this.invocation.host.runAgent(this.forAgent(agent, place));
  }

  /**
   * Runs an agent as an AgentTool does: it sees only the message it is given and its own events, and other agents do not see its events. It
   * shares the state, the services and the limits of this run, and its events are stored in this session. Yields each event after it is
   * stored; the agent continues when the next event is requested. In a resumed run, an interrupted call continues where it was.
   *
   * Errors of the agent are thrown. Closing the generator stops the agent.
   * @throws ConfigurationError in a `testContext`
   * @internal
   */
  runSubInvocation(request: SubInvocation): AsyncGenerator<Event, void, void> {
    return this.invocation.host.runSubInvocation(this, request);
  }

  /**
   * Counts a model call that the agent makes itself towards `runConfig.maxLlmCalls`. Calls of LLM agents are counted without it.
   * @throws LlmCallLimitError if the run made so many calls already
   */
  incrementLlmCallCount(): void {
    this.progress.countLlmCall();
  }

  /**
   * True if the run ends after the current event. Assigning `true` ends it so, without an error: no further agent,
   * model or tool runs, and calls without a response get one that says so. In an agent that is called as a tool it ends
   * only that call.
   * @throws ConfigurationError when a value that is not a boolean is assigned
   */
  get endInvocation(): boolean {
    return this.progress.ended;
  }

  set endInvocation(ends: boolean) {
    if (typeof ends !== 'boolean')
      throw new ConfigurationError(`context.endInvocation: expected true or false, got ${describeKind(ends)}`);
    this.progress.ended = ends;
  }

  /**
   * True if the agent, or an agent that it ran, waits for an answer that comes in a later message. Such an agent is not
   * done. False once the invocation was ended: then nobody waits.
   */
  get isPaused(): boolean {
    return this.#pauses > 0 && !this.progress.ended;
  }

  /**
   * Says that the agent waits for a later message: in a resumable run, the run does not end but waits. Call it before
   * the agent returns. Does nothing in other runs.
   */
  pause(): void {
    if (!this.isResumable || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#countPause(1);
  }

  /** Takes back `pause`: the agent continues in this run. @internal */
  endPause(): void {
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#countPause(-1);
  }

  #countPause(change: 1 | -1): void {
    const before = this.#pauses;
    this.#pauses += change;
    const isFirstOrLast = before === 0 || this.#pauses === 0;
    // The caller of a sub-invocation waits once that has ended: it may still fail, and its caller continues then.
    if (isFirstOrLast && this.parent?.progress === this.progress) this.parent.#countPause(change);
  }

  /** Throws if the run was aborted. @throws RunAbortedError when the run was aborted */
  throwIfAborted(): void {
    if (this.abortSignal.aborted) throw this.abortGuard.error();
  }

  /**
   * Resolves or rejects as `work` does, or rejects with RunAbortedError as soon as the run is aborted. The abort does not
   * stop the work itself: pass `abortSignal` to it for that. Its later result or error is ignored.
   */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    return this.abortGuard.until(work);
  }

  /**
   * Waits for application code as `untilAborted` does. In a live run whose client has disconnected it waits for at most
   * one minute. @internal
   */
  whileConnected<T>(work: Promise<T>): Promise<T> {
    return this.invocation.live?.until(work, this) ?? this.untilAborted(work);
  }

  /** Creates the context in which an invocation starts, before any agent runs. @internal */
  static create(invocation: Invocation): InvocationContext {
    return new InvocationContext({
      invocation,
      progress: new InvocationProgress(invocation.runConfig.maxLlmCalls, invocation.resumedLog?.llmCalls),
      agent: undefined,
      executionId: invocation.invocationId,
      parentExecutionId: undefined,
      abort: invocation.abort,
      hasEvents: true,
      parent: undefined,
      resumedFrom: undefined,
    });
  }

  /**
   * Creates the context of an agent that is started from this context. The first agent's execution id is the invocation id. In a resumed
   * run, claims the stored execution that the agent continues, which no other agent gets then.
   *
   * @internal
   */
  forAgent(agent: BaseAgent, place: AgentPlace = {}): InvocationContext {
    const { invocation, progress } = this;
    const { resumedLog } = invocation;
    const isFirst = !this.#hasAgent;
    const branch = place.branch ?? this.branch;
    const resumedFrom = isFirst
      ? resumedLog?.findExecution(this.executionId, agent.name)
      : resumedLog?.claimChild(this, branch, agent.name);
    return new InvocationContext({
      invocation,
      progress,
      agent,
      executionId: isFirst ? this.executionId : (resumedFrom?.executionId ?? this.#newExecutionId()),
      parentExecutionId: isFirst ? this.parentExecutionId : this.visibleExecutionId,
      hasEvents: isFirst || resumedFrom !== undefined,
      parent: this,
      resumedFrom,
      branch,
      isolationScope: place.isolationScope ?? this.isolationScope,
      abort: place.abort ?? this.abortGuard,
      tools: place.tools,
      instructions: place.instructions,
    });
  }

  /**
   * Creates the context in which a sub-invocation starts: a separate agent tree on an enclosed branch. Ending the
   * sub-invocation does not end the run. Its model calls count towards the run's limit. While it waits for a person, the
   * agent that called it waits as well.
   * @internal
   */
  forSubInvocation(
    { agent, callId, abort, caller, branch: around = this.branch }: SubInvocation,
    invocation: Invocation,
  ): InvocationContext {
    const branch = enclosedBranch(around, agent.name, callId);
    const resumedFrom = invocation.resumedLog?.claimChild(this, branch);
    return new InvocationContext({
      invocation,
      progress: new InvocationProgress(undefined, 0, this.progress),
      agent: undefined,
      resumedFrom,
      executionId: resumedFrom?.executionId ?? this.#newExecutionId(),
      parentExecutionId: this.visibleExecutionId,
      hasEvents: true,
      parent: this,
      branch,
      abort: abort ?? this.abortGuard,
      operation: caller?.operation,
    });
  }

  /** Returns a copy of this context with another abort guard, for one call that can be stopped while the agent continues. @internal */
  withAbort(abort: AbortGuard): InvocationContext {
    return this.#with({ abort });
  }

  /**
   * Returns a copy of this context in another invocation, for code that runs agents at the same time, each with its own
   * session object. @internal
   */
  withInvocation(invocation: Invocation): InvocationContext {
    return this.#with({ invocation, parent: this });
  }

  #with(changes: Partial<Place>): InvocationContext {
    return new InvocationContext({
      invocation: this.invocation,
      progress: this.progress,
      agent: this.#hasAgent ? this.agent : undefined,
      branch: this.branch,
      isolationScope: this.isolationScope,
      executionId: this.executionId,
      parentExecutionId: this.parentExecutionId,
      tools: this.extraTools,
      instructions: this.extraInstructions,
      abort: this.abortGuard,
      hasEvents: this.#hasEvents,
      parent: this.parent,
      resumedFrom: this.resumedFrom,
      operation: this.operation,
      ...changes,
    });
  }

  /**
   * The `parentExecutionId` of agents that are started from here. An execution without events, such as that of a workflow
   * agent, appears in no event. Its parent's id is used instead, so that the call tree in the events stays connected.
   * @internal
   */
  get visibleExecutionId(): string {
    return this.#hasEvents ? this.executionId : (this.parentExecutionId ?? this.executionId);
  }

  #newExecutionId(): string {
    return `e-${this.invocation.platform.newUuid()}`;
  }
}
