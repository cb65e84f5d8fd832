import {
  AbortGuard,
  checkStateDelta,
  type Content,
  type Event,
  type EventloomError,
  type Invocation,
  InvocationContext,
  RunAbortedError,
  type RunConfig,
  type SessionLease,
  StaleWriterError,
  StreamingMode,
  toError,
} from '@eventloom/core';
import { EventCommitter } from './event-committer.ts';
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts';
import { checkNewMessage, matchFunctionResponses } from './new-message.ts';
import { reportTo } from './run-failure.ts';
import type { Runner } from './runner.ts';
import { checkRunParams, type RunAsyncParams, toRunConfig } from './run-params.ts';
import type { LoadedSession, SessionLoader } from './session-loader.ts';
import { createUserEvent, saveInputBlobs } from './user-event.ts';

/** What a runner keeps for all of its runs. */
export interface RunSupport {
  readonly sessions: SessionLoader;
  readonly keeper: LeaseKeeper;
  /** The runs under way, by session. */
  readonly active: Map<string, Run>;
}

/** What the agent is driven with, once the run has begun. */
export interface RunScope {
  /** The context that the root agent is started from. */
  readonly context: InvocationContext;
  readonly committer: EventCommitter;
}

/** One run, from its message to the release of its session. */
export class Run {
  readonly #runner: Runner;
  readonly #support: RunSupport;
  readonly #params: RunAsyncParams;
  readonly #config: RunConfig;
  readonly #invocationId: string;
  /** Names the session among those of the runner: ids hold no NUL. */
  readonly #sessionName: string;
  readonly #message: Content;
  readonly #stateDelta: Record<string, unknown>;
  readonly #abort = new AbortGuard();
  #abortReason: EventloomError | undefined;
  #held: HeldLease | undefined;
  #loaded: LoadedSession | undefined;
  #isPulling = false;

  /** Checks all that can be checked without the session. @throws ConfigurationError InvalidMessageError StateKeyError StateValueError */
  constructor(runner: Runner, support: RunSupport, params: RunAsyncParams, invocationId: string) {
    this.#runner = runner;
    this.#support = support;
    this.#params = params;
    checkRunParams(params, runner.appName);
    this.#config = toRunConfig(params);
    this.#invocationId = invocationId;
    this.#sessionName = `${params.userId}\0${params.sessionId}`;
    this.#message = checkNewMessage(params.newMessage);
    this.#stateDelta = params.stateDelta ? checkStateDelta(params.stateDelta) : {};
  }

  /** Why the run was aborted, if it was. */
  get abortReason(): EventloomError | undefined {
    return this.#abortReason;
  }

  get isStreaming(): boolean {
    return this.#config.streamingMode === StreamingMode.SSE;
  }

  /** Aborts the run: whatever listens to its signal stops, and the stream throws the reason. */
  abort(reason: EventloomError): void {
    this.#abortReason ??= reason;
    this.#abort.abort(reason);
  }

  /** Stops whatever still goes on beside a run that is over. */
  stop(): void {
    this.#abort.abort(new RunAbortedError('the run ended before the agent was done'));
  }

  readonly #onAbort = (): void =>
    this.abort(new RunAbortedError('the run was aborted', { cause: this.#params.abortSignal?.reason }));

  /** Takes the session, reads it, and stores what the user said. Until that is done, a failure leaves nothing written. */
  async begin(): Promise<RunScope> {
    const { abortSignal, userId, sessionId } = this.#params;
    const { sessions, keeper, active } = this.#support;
    const { appName, agent, sessionService } = this.#runner;
    const key = { appName, userId, sessionId };
    if (abortSignal?.aborted) {
      throw new RunAbortedError('the run was aborted before it began', { cause: abortSignal.reason });
    }
    abortSignal?.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#config.onBusy === 'interrupt') {
      const interrupted = new StaleWriterError('the run was interrupted by another run of its session');
      active.get(this.#sessionName)?.abort(interrupted);
    }
    // An answer to a call needs the session that has the call, and the call, however long ago it was made.
    const answers = this.#message.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
    const isAnswer = this.#message.parts?.[0]?.functionResponse !== undefined;
    const window = isAnswer ? undefined : this.#config.getSessionConfig;
    const lease = await sessions.acquire(key, this.#config, !isAnswer, abortSignal);
    const held = {
      lease,
      renewedMs: this.#runner.platform.now(),
      onLost: (error: StaleWriterError) => this.abort(error),
    };
    this.#held = held;
    keeper.hold(held);
    active.set(this.#sessionName, this);

    const loaded = await sessions.load(key, this.#sessionName, window, answers);
    this.#loaded = loaded;
    const message = matchFunctionResponses(this.#message, loaded.session.events);
    const invocation = this.#createInvocation(loaded, lease, message);
    const context = InvocationContext.create(invocation);
    const committer = new EventCommitter({ context, held, sessionService, agentName: agent.name });
    const event = this.#createUserEvent(context, invocation);
    await committer.append(committer.stamp(event instanceof Promise ? await event : event));
    return { context, committer };
  }

  #createInvocation({ session, derived }: LoadedSession, lease: SessionLease, message: Content): MutableInvocation {
    const { agent, platform, pluginManager, artifactService, memoryService, models, sessionService } = this.#runner;
    return {
      invocationId: this.#invocationId,
      rootAgent: agent,
      session,
      derived,
      runConfig: this.#config,
      userContent: message,
      abort: this.#abort,
      platform,
      plugins: pluginManager,
      artifactService,
      memoryService,
      models,
      recordToolCall: (entry) => sessionService.recordToolCall(lease, entry),
    };
  }

  #createUserEvent(context: InvocationContext, invocation: MutableInvocation): Event | Promise<Event> {
    const { pluginManager } = this.#runner;
    if (pluginManager.has('onUserMessageCallback') || this.#config.saveInputBlobsAsArtifacts) {
      return this.#createChangedUserEvent(context, invocation);
    }
    return createUserEvent(invocation, invocation.userContent, this.#stateDelta, {});
  }

  /** The user's event as the plugins want it, with inline data saved as artifacts. */
  async #createChangedUserEvent(context: InvocationContext, invocation: MutableInvocation): Promise<Event> {
    const { pluginManager, artifactService } = this.#runner;
    const params = { invocationContext: context, userMessage: invocation.userContent };
    const replaced = await pluginManager.first('onUserMessageCallback', params);
    if (replaced) {
      invocation.userContent = matchFunctionResponses(checkNewMessage(replaced), invocation.session.events);
    }
    if (!this.#config.saveInputBlobsAsArtifacts) {
      return createUserEvent(invocation, invocation.userContent, this.#stateDelta, {});
    }
    const saved = await saveInputBlobs(invocation, invocation.userContent, artifactService);
    invocation.userContent = saved.content;
    return createUserEvent(invocation, saved.content, this.#stateDelta, saved.artifactDelta);
  }

  /** Asks the agent for its next event. An abort from outside does not wait for an agent that does not listen to it. */
  pull(events: AsyncGenerator<Event, void, void>, context: InvocationContext): Promise<IteratorResult<Event, void>> {
    context.throwIfAborted();
    this.#isPulling = true;
    const pending = events.next();
    return this.#params.abortSignal ? context.untilAborted(pending) : pending;
  }

  /** The agent answered: its generator waits at a yield, or is done. */
  pulled(): void {
    this.#isPulling = false;
  }

  /**
   * Closes the generator of an agent whose run is over before it was done. Work that its finally blocks may wait for is told to
   * stop first. What they throw does not take the place of why the run ended. A generator that is stuck is left to itself.
   */
  async stopAgent(events: AsyncGenerator<Event, void, void>): Promise<void> {
    this.stop();
    const closing = events.return(undefined).then(undefined, (error: unknown) => {
      if (!RunAbortedError.isInstance(error) && toError(error).name !== 'AbortError')
        reportTo(this.#runner.platform, error);
    });
    if (!this.#isPulling) await closing;
  }

  /** Gives the session back. */
  async end(): Promise<void> {
    this.#params.abortSignal?.removeEventListener('abort', this.#onAbort);
    if (!this.#held) return;
    const { sessions, keeper, active } = this.#support;
    keeper.letGo(this.#held);
    if (active.get(this.#sessionName) === this) active.delete(this.#sessionName);
    if (this.#loaded) sessions.keep(this.#sessionName, this.#loaded);
    try {
      await this.#runner.sessionService.releaseLease(this.#held.lease);
    } catch (error) {
      // The lease runs out by itself; the run is what it is.
      reportTo(this.#runner.platform, error);
    }
  }
}

/** The invocation while its message may still be replaced. */
type MutableInvocation = Invocation & { userContent: Content };
