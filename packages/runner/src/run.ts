import {
  checkRunConfig,
  checkStateDelta,
  type Content,
  type Event,
  type EventloomError,
  type Invocation,
  InvocationContext,
  ObjectType,
  RunAbortedError,
  type RunConfig,
  type Session,
  type SessionKey,
  StaleWriterError,
  StreamingMode,
} from '@eventloom/core';
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts';
import { checkNewMessage, matchFunctionResponses } from './new-message.ts';
import { runErrorEvent } from './run-failure.ts';
import type { Runner } from './runner.ts';
import type { RunAsyncParams } from './runner-config.ts';
import { cacheKey, type SessionLoader } from './session-loader.ts';
import { createUserEvent, saveInputBlobs } from './user-event.ts';

/** What the runner keeps for all of its runs. */
export interface RunSupport {
  readonly sessions: SessionLoader;
  readonly keeper: LeaseKeeper;
  /** The runs under way, by session. */
  readonly active: Map<string, Run>;
}

/** Kinds that are streamed and never stored. */
const NEVER_STORED: ReadonlySet<string | undefined> = new Set([ObjectType.agentTransfer, ObjectType.runnerCompletion]);

/** One run: its session, held from `begin` to `end`, and the commits in between. */
export class Run {
  readonly #runner: Runner;
  readonly #params: RunAsyncParams;
  readonly #config: RunConfig;
  readonly #key: SessionKey;
  readonly #invocationId: string;
  readonly #message: Content;
  readonly #stateDelta: Record<string, unknown>;
  readonly #controller = new AbortController();
  readonly #hasEventHook: boolean;
  readonly #isStamped: boolean;
  #support: RunSupport | undefined;
  #held: HeldLease | undefined;
  #context: InvocationContext | undefined;
  #isPulling = false;

  /** Checks all that can be checked without the session. @throws ConfigurationError InvalidMessageError StateKeyError StateValueError */
  constructor(runner: Runner, params: RunAsyncParams, invocationId: string) {
    this.#runner = runner;
    this.#params = params;
    this.#config = params.runConfig ?? {};
    this.#key = { appName: runner.appName, userId: params.userId, sessionId: params.sessionId };
    this.#invocationId = invocationId;
    checkRunConfig(this.#config);
    this.#message = checkNewMessage(params.newMessage);
    this.#stateDelta = params.stateDelta ? checkStateDelta(params.stateDelta) : {};
    this.#hasEventHook = runner.pluginManager.has('onEventCallback');
    this.#isStamped = this.#config.requestId !== undefined || this.#config.customMetadata !== undefined;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isStreaming(): boolean {
    return this.#config.streamingMode === StreamingMode.SSE;
  }

  /** The context that the root agent is started from. */
  get context(): InvocationContext {
    return this.#context as InvocationContext;
  }

  /** Ends the run: whatever listens to its signal stops. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  readonly #onAbort = (): void =>
    this.abort(new RunAbortedError('the run was aborted', { cause: this.#params.abortSignal?.reason }));

  /** Takes the session, reads it, and appends what the user said. Until that is done, a failure leaves nothing written. */
  async begin(support: RunSupport): Promise<void> {
    const { abortSignal } = this.#params;
    if (abortSignal?.aborted)
      throw new RunAbortedError('the run was aborted before it began', { cause: abortSignal.reason });
    abortSignal?.addEventListener('abort', this.#onAbort, { once: true });
    if (this.#config.onBusy === 'interrupt') {
      support.active
        .get(cacheKey(this.#key))
        ?.abort(new StaleWriterError('the run was interrupted by another run of its session'));
    }
    const lease = await support.sessions.acquire(this.#key, this.#config, abortSignal);
    this.#held = { lease, renewedMs: this.#runner.platform.now(), onLost: (error) => this.abort(error) };
    this.#support = support;
    support.keeper.hold(this.#held);
    support.active.set(cacheKey(this.#key), this);
    await this.#open(await support.sessions.load(this.#key, this.#config.getSessionConfig));
  }

  async #open(session: Session): Promise<void> {
    const { platform, pluginManager, artifactService, memoryService, models, sessionService } = this.#runner;
    const { lease } = this.#held as HeldLease;
    const message = matchFunctionResponses(this.#message, session.events);
    const invocation: Invocation & { userContent: Content } = {
      invocationId: this.#invocationId,
      session,
      runConfig: this.#config,
      userContent: message,
      abortSignal: this.signal,
      platform,
      plugins: pluginManager,
      artifactService,
      memoryService,
      models,
      recordToolCall: (entry) => sessionService.recordToolCall(lease, entry),
    };
    const context = InvocationContext.create(invocation);
    this.#context = context;
    if (pluginManager.has('onUserMessageCallback')) {
      const replaced = await pluginManager.first('onUserMessageCallback', {
        invocationContext: context,
        userMessage: message,
      });
      if (replaced) invocation.userContent = checkNewMessage(replaced);
    }
    let artifactDelta: Record<string, number> = {};
    if (this.#config.saveInputBlobsAsArtifacts) {
      const saved = await saveInputBlobs(invocation.userContent, session, this.#invocationId, artifactService);
      invocation.userContent = saved.content;
      ({ artifactDelta } = saved);
    }
    const event = createUserEvent({
      id: platform.newEventId(),
      invocationId: this.#invocationId,
      timestampMs: platform.now(),
      content: invocation.userContent,
      stateDelta: this.#stateDelta,
      artifactDelta,
    });
    await this.#append(this.#isStamped ? this.#stamp(event) : event);
  }

  /** The agent's next event. An abort does not wait for an agent that does not listen to it. */
  async next(events: AsyncGenerator<Event, void, void>): Promise<IteratorResult<Event, void>> {
    this.#isPulling = true;
    const pending = events.next();
    const next = await (this.#params.abortSignal ? this.context.untilAborted(pending) : pending);
    this.#isPulling = false;
    return next;
  }

  /** Lets the agent's generator run its finally blocks. One that is stuck in its work is left to itself. */
  async closeAgent(events: AsyncGenerator<Event, void, void>): Promise<void> {
    if (!this.#isPulling) {
      await events.return(undefined);
      return;
    }
    const closing = events.return(undefined).then(
      () => undefined,
      (error: unknown) => {
        if (!RunAbortedError.isInstance(error)) throw error;
      },
    );
    if (this.signal.aborted) this.#runner.platform.background(closing);
    else await closing;
  }

  /** True for an event that is passed on as it is: nothing has to be waited for. */
  isForwarded(event: Event): boolean {
    return event.partial === true && !this.#hasEventHook;
  }

  /** The event as it goes on: complete, as the plugins want it, and stored unless it is one that is only streamed. */
  async commit(event: Event): Promise<Event> {
    const complete = this.complete(event);
    const changed = this.#hasEventHook ? await this.#askPlugins(complete) : complete;
    if (changed.partial === true || NEVER_STORED.has(changed.object) || changed.nodeEvent) return changed;
    return this.#append(changed);
  }

  async #append(event: Event): Promise<Event> {
    const held = this.#held as HeldLease;
    const stored = await this.#runner.sessionService.appendEvent({
      session: this.context.session,
      event,
      lease: held.lease,
    });
    held.renewedMs = this.#runner.platform.now();
    return stored;
  }

  /** The event with what is missing filled in, and with what the run puts on every event. */
  complete(event: Event): Event {
    const isComplete =
      event.id !== '' && event.timestamp !== 0 && event.author !== '' && event.executionId !== undefined;
    if (isComplete && !this.#isStamped && event.invocationId === this.#invocationId) return event;
    const { platform, agent } = this.#runner;
    return this.#stamp({
      ...event,
      id: event.id || platform.newEventId(),
      invocationId: this.#invocationId,
      author: event.author || agent.name,
      timestamp: event.timestamp || platform.now() / 1000,
      executionId: event.executionId ?? this.#invocationId,
    });
  }

  #stamp(event: Event): Event {
    const { requestId, customMetadata } = this.#config;
    if (!this.#isStamped) return event;
    return {
      ...event,
      ...(requestId === undefined ? {} : { requestId }),
      ...(customMetadata === undefined ? {} : { customMetadata: { ...customMetadata, ...event.customMetadata } }),
    };
  }

  async #askPlugins(event: Event): Promise<Event> {
    const changed = await this.context.plugins.first('onEventCallback', { invocationContext: this.context, event });
    return changed ? { ...changed, id: event.id, invocationId: event.invocationId, timestamp: event.timestamp } : event;
  }

  /** The committed error event of a failed run; none when one tells of it already, or nothing can or should be written. */
  async tellFailure(failure: EventloomError, thrown: unknown): Promise<Event | undefined> {
    if (this.signal.aborted || RunAbortedError.isInstance(failure) || StaleWriterError.isInstance(failure))
      return undefined;
    if (this.context.isReported(thrown)) return undefined;
    return this.commit(runErrorEvent(this.context.createEvent({ author: this.#runner.agent.name }), failure));
  }

  /** The event that ends the stream, when it is asked for. */
  completionEvent(failure: EventloomError | undefined): Event | undefined {
    if (!this.#config.completionEvent) return undefined;
    const outcome = failure === undefined ? 'completed' : RunAbortedError.isInstance(failure) ? 'aborted' : 'failed';
    return this.complete(
      this.context.createEvent({
        author: this.#runner.appName,
        object: ObjectType.runnerCompletion,
        customMetadata: { outcome },
      }),
    );
  }

  /** Gives the session back. */
  async end(): Promise<void> {
    this.#params.abortSignal?.removeEventListener('abort', this.#onAbort);
    if (!this.#held || !this.#support) return;
    const { sessions, keeper, active } = this.#support;
    keeper.letGo(this.#held);
    if (active.get(cacheKey(this.#key)) === this) active.delete(cacheKey(this.#key));
    if (this.#context) sessions.keep(this.#key, this.#context.session, this.#config.getSessionConfig);
    await this.#runner.sessionService.releaseLease(this.#held.lease);
  }
}
