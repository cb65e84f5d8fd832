import {
  AbortGuard,
  checkStateDelta,
  ConfigurationError,
  type Content,
  type Event,
  type EventloomError,
  type Invocation,
  InvalidMessageError,
  InvocationContext,
  type InvocationPast,
  type LiveRequestQueue,
  RunAbortedError,
  type RunConfig,
  type Session,
  sessionKeyOf,
  type SessionLease,
  StaleWriterError,
  StreamingMode,
  toError,
} from '@eventloom/core';
import { driveAgent } from '@eventloom/multi-agent';
import { EventCommitter } from './event-committer.ts';
import type { HeldLease, LeaseKeeper } from './lease-keeper.ts';
import { checkNewMessage, matchFunctionResponses } from './new-message.ts';
import { agentOfCalls, lastSpeaker, type PickedAgent } from './pick-agent.ts';
import { recallSpeaker } from './recall-speaker.ts';
import { reportTo } from './run-failure.ts';
import type { Runner } from './runner.ts';
import { checkRunParams, type RunAsyncParams, toRunConfig } from './run-params.ts';
import type { LoadedSession, SessionLoader } from './session-loader.ts';
import type { ResumedInvocation } from './resume/resume-invocation.ts';
import { runSubInvocation } from './sub-invocation.ts';
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
  /** The context that the first agent is started from. */
  readonly context: InvocationContext;
  readonly committer: EventCommitter;
  /** Who is driven first. */
  readonly picked: PickedAgent;
  readonly loaded: LoadedSession;
}

/** One run, from its message to the release of its session. */
export class Run {
  readonly #runner: Runner;
  readonly #support: RunSupport;
  readonly #params: RunAsyncParams;
  #config: RunConfig;
  readonly #invocationId: string;
  /** What the client says in a live run. */
  readonly #queue: LiveRequestQueue | undefined;
  /** Names the session among those of the runner: ids hold no NUL. */
  readonly #sessionName: string;
  /** Undefined when a run is resumed that was cut off. */
  readonly #message: Content | undefined;
  readonly #stateDelta: Record<string, unknown>;
  readonly #abort = new AbortGuard();
  #abortReason: EventloomError | undefined;
  #held: HeldLease | undefined;
  #loaded: LoadedSession | undefined;
  #committer: EventCommitter | undefined;
  #isPulling = false;

  /** Checks all that can be checked without the session. @throws ConfigurationError InvalidMessageError StateKeyError StateValueError */
  constructor(
    runner: Runner,
    support: RunSupport,
    params: RunAsyncParams,
    invocationId: string,
    queue?: LiveRequestQueue,
  ) {
    this.#runner = runner;
    this.#support = support;
    this.#params = params;
    this.#queue = queue;
    if (!queue) checkRunParams(params, runner.appName);
    this.#config = toRunConfig(params, runner.resumable);
    this.#invocationId = invocationId;
    this.#sessionName = `${params.userId}\0${params.sessionId}`;
    this.#message = params.newMessage && checkNewMessage(params.newMessage);
    this.#stateDelta = params.stateDelta ? checkStateDelta(params.stateDelta) : {};
  }

  /** Why the run was aborted, if it was. */
  get abortReason(): EventloomError | undefined {
    return this.#abortReason;
  }

  get isStreaming(): boolean {
    return this.#queue !== undefined || this.#config.streamingMode === StreamingMode.SSE;
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
    const answers = this.#message?.parts?.flatMap(({ functionResponse }) => functionResponse?.id ?? []) ?? [];
    const isAnswer = this.#message?.parts?.[0]?.functionResponse !== undefined;
    const { invocationId } = this.#params;
    const goesOn = invocationId !== undefined;
    if (goesOn && this.#message && !isAnswer)
      throw new InvalidMessageError('newMessage: a run that is resumed takes answers to its calls and nothing else');
    const window = isAnswer || goesOn ? undefined : this.#config.getSessionConfig;
    const lease = await sessions.acquire(key, this.#config, !isAnswer && !goesOn, abortSignal);
    const held = {
      lease,
      renewedMs: this.#runner.platform.now(),
      onLost: (error: StaleWriterError) => this.abort(error),
    };
    this.#held = held;
    keeper.hold(held);
    active.set(this.#sessionName, this);

    const loaded = await sessions.load(key, this.#sessionName, window, answers, invocationId);
    this.#loaded = loaded;
    const { events } = loaded.session;
    const { credentialService, requestTtlMs, platform } = this.#runner;
    const answering = { events, platform, requestTtlMs, credentialService };
    const resumed = goesOn ? await this.#resume(invocationId, events) : undefined;
    let matched = matchFunctionResponses(this.#message ?? NO_MESSAGE, answering);
    const invocation = this.#createInvocation(
      loaded,
      lease,
      resumed?.userContent ?? (this.#queue ? undefined : matched.message),
      resumed?.past,
    );
    const context = InvocationContext.create(invocation);
    const asks = this.#message && this.#runner.pluginManager.has('onUserMessageCallback');
    const replaced = asks ? await this.#askForMessage(context, matched.message) : undefined;
    if (replaced) {
      matched = matchFunctionResponses(replaced, answering, matched.answers);
      if (!goesOn) invocation.userContent = matched.message;
    }
    const isReply = matched.calls.length > 0;
    if (!window && !isReply && !goesOn) await recallSpeaker(agent, loaded, sessionService);
    if (goesOn && matched.calls.some((call) => call.invocationId !== invocationId))
      throw new InvalidMessageError('newMessage: answers calls of another run than the one that is resumed');
    const asking = isReply ? agentOfCalls(agent, matched.calls) : undefined;
    const picked = resumed?.picked ?? asking ?? { agent: lastSpeaker(agent, events, loaded.derived) };
    if (this.#queue && !picked.agent.canRunLive)
      throw new ConfigurationError(`runLive: agent "${picked.agent.name}" cannot run live`);
    const committer = new EventCommitter({ context, held, sessionService, agentName: picked.agent.name });
    this.#committer = committer;
    const artifactDelta =
      this.#message && this.#config.saveInputBlobsAsArtifacts ? await this.#saveInputBlobs(invocation) : {};
    if (this.#message) {
      const content = goesOn ? matched.message : (invocation.userContent ?? matched.message);
      const branch = asking ? asking.branch : picked.branch;
      const state = this.#config.resumable === true && !goesOn ? { resumable: true } : undefined;
      const event = createUserEvent(invocation, content, this.#stateDelta, artifactDelta, branch, state);
      if (matched.answers) await matched.answers.keepCredentials(key);
      await committer.append(committer.stamp(event));
    }
    return { context, committer, picked, loaded };
  }

  /** What the run goes on with. What it was begun with counts unless the caller says otherwise. @throws InvalidRequestError InvalidMessageError */
  async #resume(invocationId: string, events: readonly Event[]): Promise<ResumedInvocation> {
    // Seldom needed: not loaded with the agent.
    const { resumeInvocation } = await import('./resume/resume-invocation.ts');
    const resumed = resumeInvocation(this.#runner.agent, events, invocationId);
    const { requestId, customMetadata } = { ...resumed.config, ...withoutUndefined(this.#config) };
    this.#config = { ...this.#config, requestId, customMetadata, resumable: true };
    return resumed;
  }

  #createInvocation(
    { session, derived }: LoadedSession,
    lease: SessionLease,
    message: Content | undefined,
    past: InvocationPast | undefined,
  ): MutableInvocation {
    const { agent, platform, pluginManager, sessionService } = this.#runner;
    const { artifactService, memoryService, credentialService, models, contextCacheConfig } = this.#runner;
    return {
      invocationId: this.#invocationId,
      rootAgent: agent,
      session,
      derived,
      past,
      runConfig: this.#config,
      userContent: message,
      liveRequestQueue: this.#queue,
      ...(this.#queue ? this.#liveParts(session) : {}),
      abort: this.#abort,
      platform,
      plugins: pluginManager,
      artifactService,
      memoryService,
      credentialService,
      models,
      contextCacheConfig,
      driveAgent,
      runSubInvocation: (parent, request) => {
        const committer = this.#committer;
        if (!committer) throw new ConfigurationError('runSubInvocation: agents run when the message is stored');
        return runSubInvocation(parent, request, committer);
      },
      recordToolCall: (entry) => sessionService.recordToolCall(lease, entry),
      listToolCalls: (invocationId) => sessionService.listToolCalls({ ...sessionKeyOf(session), invocationId }),
    };
  }

  #liveParts(session: Session): Pick<Invocation, 'activeStreamingTools' | 'acceptLiveContent'> {
    const { platform, credentialService, requestTtlMs } = this.#runner;
    return {
      activeStreamingTools: new Map(),
      acceptLiveContent: async (content) => {
        const { acceptLiveContent } = await import('./live/accept-live-content.ts');
        return acceptLiveContent(content, { session, platform, credentialService }, requestTtlMs);
      },
    };
  }

  /** The message that a plugin wants in place of the user's. @throws InvalidMessageError */
  async #askForMessage(invocationContext: InvocationContext, userMessage: Content): Promise<Content | undefined> {
    const { pluginManager } = this.#runner;
    const replaced = await pluginManager.first('onUserMessageCallback', { invocationContext, userMessage });
    return replaced && checkNewMessage(replaced);
  }

  async #saveInputBlobs(invocation: MutableInvocation): Promise<Record<string, number>> {
    const { content, artifactDelta } = await saveInputBlobs(
      invocation,
      invocation.userContent ?? NO_MESSAGE,
      this.#runner.artifactService,
    );
    invocation.userContent = content;
    return artifactDelta;
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

const NO_MESSAGE: Content = {};

function withoutUndefined<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}

/** The invocation while its message may still be replaced. */
type MutableInvocation = Invocation & { userContent: Content | undefined };
