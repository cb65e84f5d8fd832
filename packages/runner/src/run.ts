import {
  AbortGuard,
  type BaseLiveRequestQueue,
  checkStateDelta,
  ConfigurationError,
  type Content,
  type Event,
  type EventloomError,
  type GetSessionConfig,
  InvalidMessageError,
  InvocationContext,
  reportUnlessStopped,
  RunAbortedError,
  type RunConfig,
  type RunLiveParams,
  ShuttingDownError,
  StreamingMode,
} from '@eventloom/core';
import type { ActiveRuns } from './active-runs.ts';
import { answeredCallIds } from './answered-call-ids.ts';
import { answeredRun } from './answered-run.ts';
import { createInvocation } from './create-invocation.ts';
import { EventCommitter } from './event-committer.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { matchAnswers, type MatchedMessage } from './match-answers.ts';
import { checkNewMessage } from './new-message.ts';
import { agentOfCalls, lastSpeaker, type PickedAgent } from './pick-agent.ts';
import { recallSpeaker } from './recall-speaker.ts';
import type { RequestAnswers } from './request-answers.ts';
import type { Runner } from './runner.ts';
import { checkRunParams, type RunAsyncParams, toRunConfig } from './run-params.ts';
import type { LoadedSession, SessionLoader } from './session-loader.ts';
import { type ResumedInvocation, resumeInvocation } from './resume/resume-invocation.ts';
import { RunSession, type TakenSession } from './run-session.ts';
import { storeMessage } from './store-message.ts';

/** What a runner keeps for all of its runs. */
export interface RunSupport {
  readonly sessions: SessionLoader;
  readonly keeper: LeaseKeeper;
  readonly active: ActiveRuns;
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

/**
 * How a run ended: it came to its end, or waits for an answer, or failed and that is stored (`over`); it was aborted or left before
 * (`cut off`); it failed, and not even that could be stored (`untold`).
 */
export type RunOutcome = 'over' | 'cut off' | 'untold';

/** One run, from its message to the release of its session. */
export class Run {
  readonly #runner: Runner;
  readonly #params: RunAsyncParams;
  #config: RunConfig;
  readonly #newId: string;
  /** Of a live run. */
  readonly #queue: BaseLiveRequestQueue | undefined;
  /** The run that goes on: the one that the caller names, or that asked what the message answers. */
  #resumedId: string | undefined;
  readonly #session: RunSession;
  /** Undefined when a run is resumed that was cut off. */
  readonly #message: Content | undefined;
  readonly #stateDelta: Record<string, unknown>;
  readonly #abort = new AbortGuard();
  #abortReason: EventloomError | undefined;
  #committer: EventCommitter | undefined;
  #isPulling = false;
  /** Ends the wait for the agent, if there is one. */
  #interrupt: ((reason: EventloomError) => void) | undefined;
  /** True once there is something that could go on later. */
  #canGoOn = false;

  /** Checks all that can be checked without the session. @throws ConfigurationError InvalidMessageError StateKeyError StateValueError */
  constructor(runner: Runner, support: RunSupport, params: RunAsyncParams, invocationId: string, live?: RunLiveParams) {
    this.#runner = runner;
    this.#params = params;
    if (!live) checkRunParams(params, runner.appName);
    this.#config = toRunConfig(params, live ? { getSessionConfig: runner.getSessionConfig } : runner);
    // The queue of a run that cannot be made can serve another.
    if (live) this.#queue = takeQueue(live, runner);
    this.#newId = invocationId;
    this.#resumedId = params.invocationId;
    const { userId, sessionId } = params;
    this.#session = new RunSession(this, runner, support, { appName: runner.appName, userId, sessionId });
    this.#message = params.newMessage && checkNewMessage(params.newMessage);
    this.#stateDelta = params.stateDelta ? checkStateDelta(params.stateDelta) : {};
  }

  /** Settled once the run has begun: before, answers may turn out to go on with another run. */
  get invocationId(): string {
    return this.#resumedId ?? this.#newId;
  }

  /** True for a live run that was let go of when its client had hung up: nobody is told of a failure. */
  get isLetGo(): boolean {
    return this.#queue?.isLetGo === true;
  }

  /** The effective config: after a resume is loaded, merged over that of the original run. */
  get config(): RunConfig {
    return this.#config;
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
    this.#interrupt?.(reason);
  }

  /** Another run takes the session over. What was said so far in a live run is stored first. */
  async makeWay(reason: EventloomError): Promise<void> {
    await this.#queue?.makeWay(this.#runner.platform);
    this.abort(reason);
  }

  /** Stops whatever still goes on beside a run that is over. */
  stop(): void {
    this.#abort.abort(new RunAbortedError('the run ended before the agent was done'));
  }

  readonly #onAbort = (): void =>
    this.abort(new RunAbortedError('the run was aborted', { cause: this.#params.abortSignal?.reason }));

  /** Takes the session, reads it, and stores what the user said. Until that is done, a failure leaves nothing written. */
  async begin(): Promise<RunScope> {
    const { abortSignal } = this.#params;
    const { agent, sessionService } = this.#runner;
    if (abortSignal?.aborted) {
      throw new RunAbortedError('the run was aborted before it began', { cause: abortSignal.reason });
    }
    abortSignal?.addEventListener('abort', this.#onAbort, { once: true });
    const { held, loaded } = await this.#take();
    const { events } = loaded.session;
    const resumed = this.#resumedId === undefined ? undefined : this.#resume(this.#resumedId, events);
    let matched = await this.#match(this.#message ?? NO_MESSAGE, events);
    const invocation = createInvocation(this.#runner, {
      invocationId: this.invocationId,
      loaded,
      lease: held.lease,
      runConfig: this.#config,
      userContent: resumed?.userContent ?? (this.#queue ? undefined : matched.message),
      liveRequestQueue: this.#queue,
      readMessage: async (content: Content, before?: RequestAnswers) =>
        this.#match(checkNewMessage(content), loaded.session.events, before),
      past: resumed?.past,
      abort: this.#abort,
      committer: () => this.#committer,
    });
    const context = InvocationContext.create(invocation);
    const asksPlugins = this.#message && context.plugins.has('onUserMessageCallback');
    const replaced = asksPlugins ? await askForMessage(context, matched.message) : undefined;
    if (replaced) {
      this.#checkReplaced(replaced, events);
      matched = await this.#match(replaced, events, matched.answers);
      if (!resumed) invocation.userContent = matched.message;
    }
    const isReply = matched.calls.length > 0;
    const isCut = !this.#window && events.length < loaded.session.lastSeq;
    if (isCut && !isReply && !resumed) await recallSpeaker(agent, loaded, sessionService);
    const asking = isReply && !resumed ? agentOfCalls(agent, matched.calls) : undefined;
    const picked = resumed?.picked ?? asking ?? { agent: lastSpeaker(agent, events, loaded.derived) };
    this.#queue?.checkAgent(picked.agent, agent);
    const committer = new EventCommitter({ context, held, sessionService, agentName: picked.agent.name });
    this.#committer = committer;
    if (this.#message) {
      await storeMessage(invocation, committer, matched, {
        goesOn: resumed !== undefined,
        stateDelta: this.#stateDelta,
        branch: picked.branch,
      });
    }
    this.#canGoOn = this.#config.resumable === true;
    return { context, committer, picked, loaded };
  }

  /** Takes the session and reads it. A client that hangs up meanwhile need not wait. */
  #take(): Promise<TakenSession> {
    const { abortSignal } = this.#params;
    return this.#queue?.whileWaiting((signal) => this.#takeUntil(signal), abortSignal) ?? this.#takeUntil(abortSignal);
  }

  /** Takes the session and reads it, once it is known which run it is taken for. */
  #takeUntil(abortSignal: AbortSignal | undefined): Promise<TakenSession> {
    const { invocationId } = this.#params;
    if (invocationId !== undefined && this.#message && !this.#isAnswer)
      throw new InvalidMessageError('newMessage: a run that is resumed takes answers to its calls and nothing else');
    const callIds = answeredCallIds(this.#message);
    return this.#session.takeForRun(invocationId, callIds, (resumedId) => {
      this.#resumedId = resumedId;
      const goesOn = resumedId !== undefined;
      this.#canGoOn = goesOn;
      return {
        runConfig: this.#config,
        run: { invocationId: this.invocationId, resumable: goesOn || this.#config.resumable === true },
        canBegin: !this.#isAnswer && !goesOn,
        window: this.#window,
        abortSignal,
      };
    });
  }

  /** True for a message that answers calls. It needs the session that has the calls, and these, however long ago they were made. */
  get #isAnswer(): boolean {
    return this.#message?.parts?.[0]?.functionResponse !== undefined;
  }

  /** The part of the session that is read; undefined for all that counts. */
  get #window(): GetSessionConfig | undefined {
    return this.#isAnswer || this.#resumedId !== undefined ? undefined : this.#config.getSessionConfig;
  }

  /** What a plugin makes of a message can neither go on with a run that the message did not, nor the other way round. */
  #checkReplaced(message: Content, events: readonly Event[]): void {
    const callIds = answeredCallIds(message);
    if (this.#resumedId === undefined ? callIds.length === 0 : callIds.length > 0) return;
    if (this.#resumedId === undefined && answeredRun(events, callIds) === undefined) return;
    throw new InvalidMessageError('newMessage: what onUserMessageCallback returns must answer the same run, or none');
  }

  #match(
    message: Content,
    events: readonly Event[],
    before?: RequestAnswers,
  ): MatchedMessage | Promise<MatchedMessage> {
    const isAnswer = message.parts?.some((part) => part.functionResponse) === true;
    if (!isAnswer) return { message, calls: [], answers: undefined };
    const { platform, requestTtlMs, credentialService } = this.#runner;
    const invocationId = this.#resumedId;
    const params = { events, platform, requestTtlMs, credentialService, invocationId };
    return matchAnswers(message, params, before);
  }

  /** What the run goes on with. What it was begun with counts unless the caller says otherwise. @throws InvalidRequestError InvalidMessageError */
  #resume(invocationId: string, events: readonly Event[]): ResumedInvocation {
    try {
      const resumed = resumeInvocation(this.#runner.agent, events, invocationId);
      this.#config = { ...resumed.config, ...withoutUndefined(this.#config), resumable: true };
      return resumed;
    } catch (error) {
      // It can never go on.
      this.#canGoOn = false;
      throw error;
    }
  }

  /** Asks the agent for its next event. An abort does not wait for an agent that does not listen to it. */
  pull(events: AsyncGenerator<Event, void, void>, context: InvocationContext): Promise<IteratorResult<Event, void>> {
    context.throwIfAborted();
    this.#isPulling = true;
    if (this.#queue) return context.untilLetGo(events.next());
    // As `untilAborted`, at less cost for each event: there is one such wait at a time.
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      events.next().then(resolve, reject);
    });
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
    const closing = events
      .return(undefined)
      .then(undefined, (error: unknown) => reportUnlessStopped(this.#runner.platform, error));
    if (!this.#isPulling) await closing;
  }

  /**
   * Gives the session back. A resumable run stays open when it was cut off because the process is about to end, and when its failure
   * could not be stored. One that somebody cancelled, or stopped to read, is over.
   */
  end(outcome: RunOutcome): Promise<void> {
    const { abortSignal } = this.#params;
    abortSignal?.removeEventListener('abort', this.#onAbort);
    // Whoever still speaks is told that nobody listens.
    this.#queue?.close();
    const isStopped = outcome === 'cut off' && ShuttingDownError.isInstance(abortSignal?.reason);
    return this.#session.giveBack(this.#canGoOn && (isStopped ? 'uncounted' : outcome === 'untold'));
  }
}

const NO_MESSAGE: Content = {};

/** The message that a plugin wants in place of the user's. @throws InvalidMessageError */
async function askForMessage(invocationContext: InvocationContext, userMessage: Content): Promise<Content | undefined> {
  const replaced = await invocationContext.plugins.first('onUserMessageCallback', { invocationContext, userMessage });
  return replaced && checkNewMessage(replaced);
}

/** The queue of a live run, which is this run's from now on. @throws ConfigurationError */
function takeQueue(params: RunLiveParams, runner: Runner): BaseLiveRequestQueue {
  const { liveRequestQueue } = params;
  if (typeof liveRequestQueue?.beginRun !== 'function')
    throw new ConfigurationError('runLive: liveRequestQueue must be a LiveRequestQueue');
  liveRequestQueue.beginRun(params, runner);
  return liveRequestQueue;
}

function withoutUndefined<T extends object>(options: T): Partial<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<T>;
}
