import type { BaseAgent } from '../agent/base-agent.ts';
import type { RunConfig } from '../agent/run-config.ts';
import { RUN_CONFIG_DEFAULTS } from '../agent/run-config.ts';
import type { BaseArtifactService } from '../artifact/artifact-service.ts';
import type { Content } from '../content/content.ts';
import { LlmCallLimitError } from '../errors/llm-call-limit-error.ts';
import type { EventParams } from '../event/create-event.ts';
import type { Event } from '../event/event.ts';
import { createEventActions } from '../event/event-actions.ts';
import type { BaseMemoryService } from '../memory/memory-service.ts';
import type { ModelResolver } from '../model/base-llm.ts';
import type { Platform } from '../platform/platform.ts';
import type { PluginManager } from '../plugin/plugin-manager.ts';
import type { Session } from '../session/session.ts';
import type { ToolLedgerEntry } from '../session/tool-ledger.ts';
import type { AbortGuard } from './abort-guard.ts';

/** What all agents of one invocation share. Made by the runner. */
export interface Invocation {
  readonly invocationId: string;
  /** The agent that the runner was made with. */
  readonly rootAgent: BaseAgent;
  readonly session: Session;
  readonly runConfig: RunConfig;
  /** The message that set the invocation off. */
  readonly userContent: Content | undefined;
  /** Fires when the run is aborted, abandoned or loses its session. Everything that waits honours it. */
  readonly abort: AbortGuard;
  readonly platform: Platform;
  readonly plugins: PluginManager;
  readonly artifactService: BaseArtifactService | undefined;
  readonly memoryService: BaseMemoryService | undefined;
  /** Finds the model that a string names. */
  readonly models: ModelResolver | undefined;
  /** What is computed from the session's events, under a key of whoever computes it; kept for as long as the events are. */
  readonly derived: Map<unknown, unknown>;
  /** Writes to the session's tool ledger under the run's lease. */
  readonly recordToolCall: (entry: ToolLedgerEntry) => Promise<void>;
}

/** The mutable counters of an invocation, one object for all of its contexts. */
interface Progress {
  llmCalls: number;
  ended: boolean;
  /** The error that an event of the stream already tells of. */
  reportedError: unknown;
}

/** One agent's place in one invocation: what it may read, and the services it works with. */
export class InvocationContext {
  readonly invocation: Invocation;
  readonly session: Session;
  readonly abortSignal: AbortSignal;
  readonly plugins: PluginManager;
  readonly branch: string | undefined;
  readonly executionId: string;
  readonly parentExecutionId: string | undefined;
  readonly #agent: BaseAgent | undefined;
  readonly #progress: Progress;

  private constructor(
    invocation: Invocation,
    progress: Progress,
    agent: BaseAgent | undefined,
    executionId: string,
    parentExecutionId: string | undefined,
    branch: string | undefined,
  ) {
    this.invocation = invocation;
    this.session = invocation.session;
    this.abortSignal = invocation.abort.signal;
    this.plugins = invocation.plugins;
    this.#progress = progress;
    this.#agent = agent;
    this.executionId = executionId;
    this.parentExecutionId = parentExecutionId;
    this.branch = branch;
  }

  /** The context in which an invocation starts: no agent runs yet. */
  static create(invocation: Invocation): InvocationContext {
    return new InvocationContext(
      invocation,
      { llmCalls: 0, ended: false, reportedError: undefined },
      undefined,
      invocation.invocationId,
      undefined,
      undefined,
    );
  }

  /** The context of an agent that is started from this one. The first agent's execution is the invocation's own. */
  forAgent(agent: BaseAgent): InvocationContext {
    const first = this.#agent === undefined;
    const executionId = first ? this.executionId : `e-${this.invocation.platform.newUuid()}`;
    return new InvocationContext(
      this.invocation,
      this.#progress,
      agent,
      executionId,
      first ? undefined : this.executionId,
      this.branch,
    );
  }

  get invocationId(): string {
    return this.invocation.invocationId;
  }

  get appName(): string {
    return this.session.appName;
  }

  get userId(): string {
    return this.session.userId;
  }

  /** The agent that this context is for; the root agent where none has started yet. */
  get agent(): BaseAgent {
    return this.#agent ?? this.invocation.rootAgent;
  }

  get runConfig(): RunConfig {
    return this.invocation.runConfig;
  }

  get userContent(): Content | undefined {
    return this.invocation.userContent;
  }

  get platform(): Platform {
    return this.invocation.platform;
  }

  get artifactService(): BaseArtifactService | undefined {
    return this.invocation.artifactService;
  }

  get memoryService(): BaseMemoryService | undefined {
    return this.invocation.memoryService;
  }

  /** True once `endInvocation` was called. */
  get isEnded(): boolean {
    return this.#progress.ended;
  }

  /** Ends the whole invocation after the current event: no further step, agent or model call. */
  endInvocation(): void {
    this.#progress.ended = true;
  }

  /** Counts a model call. @throws LlmCallLimitError when it is one more than `runConfig.maxLlmCalls` */
  countLlmCall(): void {
    const limit = this.runConfig.maxLlmCalls ?? RUN_CONFIG_DEFAULTS.maxLlmCalls;
    if (limit > 0 && this.#progress.llmCalls >= limit) {
      throw new LlmCallLimitError(
        `the run used up its ${limit} model calls; raise runConfig.maxLlmCalls if it needs more`,
      );
    }
    this.#progress.llmCalls++;
  }

  /**
   * The work, or RunAbortedError as soon as the run is aborted. What the work does afterwards is nobody's concern any more: work
   * that listens to `abortSignal` ends, other work is left to itself.
   */
  untilAborted<T>(work: Promise<T>): Promise<T> {
    return this.invocation.abort.until(work);
  }

  /** Says that an event which tells of this error was yielded, so that the runner adds none. */
  markReported(error: unknown): void {
    this.#progress.reportedError = error;
  }

  /** True when an event already tells of this error. */
  isReported(error: unknown): boolean {
    return error !== undefined && this.#progress.reportedError === error;
  }

  /** @throws RunAbortedError when the run was aborted */
  throwIfAborted(): void {
    this.invocation.abort.check();
  }

  /** An event of this context's agent, with its ids and the time. */
  createEvent(params: EventParams = {}): Event {
    const { invocation, branch, parentExecutionId } = this;
    const event: { -readonly [K in keyof Event]: Event[K] } = {
      ...params,
      id: params.id ?? invocation.platform.newEventId(),
      invocationId: invocation.invocationId,
      author: params.author ?? this.#agent?.name ?? this.appName,
      timestamp: params.timestamp ?? invocation.platform.now() / 1000,
      executionId: this.executionId,
      actions: createEventActions(params.partial === true ? undefined : params.actions),
    };
    if (branch !== undefined) event.branch = branch;
    if (parentExecutionId !== undefined) event.parentExecutionId = parentExecutionId;
    return event;
  }
}
