import {
  type AbortGuard,
  ConfigurationError,
  createErrorEvent,
  createEventActions,
  type Event,
  type InvocationContext,
  LiveConnectionError,
  type LiveLlmResponse,
  type LlmRequest,
  RunAbortedError,
} from '@eventloom/core';
import { type EmittedEvents, ModelCall, type Step } from '@eventloom/llm-agent/internal';
import { closeConnection } from './close-connection.ts';
import { givesControlAway } from './gives-control-away.ts';
import { LiveCalls } from './live-calls.ts';
import { type Ending, LiveEnding } from './live-ending.ts';
import { LiveInput } from './live-input.ts';
import { LiveOutput } from './live-output.ts';
import { type LiveRecordings, recordingsOf } from './live-recordings.ts';
import { Patience } from './patience.ts';
import { prepareLiveRequest } from './prepare-live-request.ts';
import { isLoss, ReconnectPolicy } from './reconnect-policy.ts';
import { resumeAnswered } from './resume-answered.ts';
import { ServiceSession } from './service-session.ts';
import { timeLimitEvent } from './time-limit-event.ts';

/** What callbacks, stores and hand-overs get when the client has hung up. */
const GRACE_MS = 4000;
/** What saving audio gets then. */
const SAVE_GRACE_MS = 30_000;

/** One agent's part of a live run: its connections, one after the other, and what goes on around them. */
export class LiveFlow {
  readonly #step: Step;
  readonly #context: InvocationContext;
  readonly #emitted: EmittedEvents;
  readonly #onConnecting: () => void;
  readonly #session: ServiceSession;
  readonly #recordings: LiveRecordings | undefined;
  readonly #input: LiveInput;
  readonly #output: LiveOutput;
  readonly #calls: LiveCalls;
  readonly #policy: ReconnectPolicy;
  readonly #ending: LiveEnding;
  readonly #patience: Patience;
  readonly #saving: Patience;
  /** Aborted when no connection is to be made any more: waits for one end. */
  readonly #connecting: AbortGuard;
  #tools: LlmRequest['toolsDict'] = {};

  /**
   * @param onConnecting told of each connection that is about to be made
   * @throws ConfigurationError outside a live run
   */
  constructor(step: Step, emitted: EmittedEvents, onConnecting: () => void) {
    const { agent, context } = step;
    const queue = context.liveRequestQueue;
    if (!queue) throw new ConfigurationError(`agent "${agent.name}": there is no liveRequestQueue to run live with`);
    this.#step = step;
    this.#context = context;
    this.#emitted = emitted;
    this.#onConnecting = onConnecting;
    const session = new ServiceSession(context, queue);
    const emit = (event: Event): Promise<void> => this.#emit(event);
    const fail = (error: unknown): void => this.#ending.failUnlessLost(error);
    this.#session = session;
    const waiting = context.forkAbort();
    const ending = new LiveEnding(() => {
      void session.close();
      if (ending.isOver) waiting.abort(new RunAbortedError('the live run is over'));
    });
    this.#connecting = waiting;
    this.#ending = ending;
    const patience = new Patience({ context, queue, graceMs: GRACE_MS, onOver: () => this.#ending.end('closed') });
    const saving = new Patience({ context, queue, graceMs: SAVE_GRACE_MS, onOver: () => this.#ending.end('closed') });
    const recordings = recordingsOf({ context, emit, patience: saving, fail });
    this.#patience = patience;
    this.#saving = saving;
    this.#recordings = recordings;
    void queue.whenToYieldSession().then(() => this.#ending.end('takenOver'));
    this.#policy = new ReconnectPolicy({ context, session, ending, waiting, isDone: () => this.#isDone });
    this.#input = new LiveInput({
      context,
      queue,
      session,
      recordings,
      patience,
      emit,
      onWritten: (event) => resumeAnswered(step, event, this.#tools, this.#calls, emit),
      onEmpty: () => this.#ending.end('closed'),
      onFailure: fail,
    });
    this.#output = new LiveOutput({
      step,
      recordings,
      patience,
      emit,
      onCalls: (calls) => {
        // What the user says from here on is for whom the agent hands over to.
        for (const call of calls) if (givesControlAway(call, context)) this.#input.hold(call);
      },
      run: (eventId, calls) => this.#calls.start({ step, tools: this.#tools, eventId, calls }),
    });
    this.#calls = new LiveCalls({
      context,
      session,
      emit,
      answer: (response) => this.#input.answers.push({ toolResponses: [response] }),
      tell: (content) => this.#input.answers.push({ content }),
      onSettled: (call) => {
        this.#input.settled(call);
        if (!this.#calls.isHandingOver) this.#input.release(call);
        // Who hangs up waits for no call.
        else if (this.#calls.isBusy) void queue.whenClosed().then(() => this.#ending.end('handedOver'));
        this.#endIfDone();
      },
      onFailure: (error) => this.#ending.fail(error),
    });
  }

  /** Speaks until there is a reason to stop, and says which. @throws what the run fails with */
  async run(): Promise<Ending | undefined> {
    const { abortSignal, progress } = this.#context;
    const hangUp = (): void => void this.#session.close();
    abortSignal.addEventListener('abort', hangUp, { once: true });
    progress.endsItself = true;
    try {
      await this.#speak();
      await this.#finish();
      return this.#ending.reason;
    } finally {
      progress.endsItself = false;
      this.#context.dropAbort(this.#connecting);
      this.#patience.end();
      this.#saving.end();
      abortSignal.removeEventListener('abort', hangUp);
    }
  }

  /** Ends the flow, whatever it is doing: nobody reads its events any more. */
  stop(): void {
    this.#ending.end('stopped');
  }

  /** Makes one connection after the other. */
  async #speak(): Promise<void> {
    let isLost = false;
    try {
      while (!this.#ending.isOver) {
        this.#input.watch(isLost);
        try {
          await this.#runConnection();
          isLost = false;
          if (this.#ending.isOver) break;
          await this.#leave();
          this.#input.watch(false);
          await this.#policy.afterLeave();
        } catch (error) {
          if (this.#ending.isOver) break;
          this.#context.throwIfAborted();
          await this.#leave();
          await this.#output.cutOff();
          isLost = isLoss(error);
          this.#input.watch(isLost);
          if (!this.#ending.isOver) await this.#policy.afterLoss(error);
        } finally {
          await this.#leave();
        }
      }
    } catch (error) {
      if (this.#context.liveRequestQueue?.isClosed && isLoss(error)) await this.#tellLoss(error);
      else this.#ending.fail(error);
    }
    await this.#calls.stop();
  }

  /** Who hung up is told that there is no connection, and no more. What was written and not sent is stored. */
  async #tellLoss(error: LiveConnectionError): Promise<void> {
    const { code, message, errorCode = code } = error;
    await this.#input.storeRest();
    await this.#emit(createErrorEvent(this.#context.createEvent(), errorCode, message));
    this.#ending.end('closed');
  }

  /** Passes on what was said so far, whatever the end is. @throws what the run fails with */
  async #finish(): Promise<void> {
    const { reason, failure } = this.#ending;
    if (reason === 'stopped') return;
    if (failure) {
      // What goes wrong here does not take the place of the failure.
      if (!this.#context.abortSignal.aborted) await this.#tellRest(true).catch(() => undefined);
      throw failure.error;
    }
    await this.#tellRest(reason === 'takenOver');
    if (reason !== 'timedOut') return;
    this.#context.endInvocation();
    await this.#emit(timeLimitEvent(this.#context));
  }

  async #tellRest(isInterrupted: boolean): Promise<void> {
    await this.#output.flush(isInterrupted);
    await this.#recordings?.end();
  }

  /** Makes a connection and reads it to its end. */
  async #runConnection(): Promise<void> {
    const { model, context } = this.#step;
    const { handle } = this.#session;
    // A history is all that the connection knows: it holds what was said so far.
    if (handle === undefined) await this.#output.flush(true);
    const connecting = this.#connecting;
    const { call, answer } = await connecting.until(
      this.#patience.until(this.#prepare(handle), 'an instruction, a toolset or beforeModelCallback'),
    );
    if (answer) {
      await this.#output.answer(answer);
      return this.#ending.end('answered');
    }
    // A callback may have ended the invocation.
    this.#endIfDone();
    if (this.#ending.isOver) return undefined;
    const { request } = call;
    this.#tools = request.toolsDict;
    context.countLlmCall();
    this.#ending.goOn();
    this.#onConnecting();
    const opening = model.connect(request, connecting.signal);
    const connection = await connecting.until(opening).catch((error: unknown) => {
      // It may come when nobody waits for it any more.
      void opening.then((late) => closeConnection(context, late)).catch(() => undefined);
      throw error;
    });
    if (this.#ending.isOver) return closeConnection(context, connection);
    this.#policy.connected();
    if (handle === undefined) {
      await this.#session.begin(connection, request.contents);
      if (request.contents.length > 0) await this.#input.dropTold(request.contents);
    } else await this.#session.resume(connection);
    this.#input.start();
    for await (const response of connection.receive()) await this.#take(response);
    if (!this.#ending.isLeaving) throw new LiveConnectionError('the connection ended', { isRetryable: true });
  }

  async #prepare(handle: string | undefined) {
    const actions = createEventActions();
    const request = await prepareLiveRequest(this.#step, handle, this.#calls, actions);
    const call = new ModelCall(this.#step, request, actions);
    return { call, answer: await this.#output.begin(call) };
  }

  async #take(response: LiveLlmResponse): Promise<void> {
    this.#session.arrived(response);
    this.#policy.heard(response);
    this.#calls.cancel(response.toolCallCancellation?.ids ?? []);
    await this.#output.take(response);
    this.#session.note(response);
    // A turn is let come to its end; when the time does not suffice, the service ends the connection itself.
    if (this.#policy.isLeaveDue && !this.#output.isSpeaking) this.#ending.end('reconnecting');
    this.#endIfDone();
  }

  async #leave(): Promise<void> {
    await this.#session.hangUp();
    await this.#input.stop();
  }

  /** True when the model is told nothing more: the invocation was ended, or the agent hands over. */
  get #isDone(): boolean {
    return this.#context.isEnded || this.#calls.isHandingOver;
  }

  /** An invocation that was ended, and an agent that hands over, go on until the calls are over: what came of them is stored. */
  #endIfDone(): void {
    if (this.#isDone && !this.#calls.isBusy) this.#ending.end(this.#calls.isHandingOver ? 'handedOver' : 'ended');
  }

  /** @throws RunAbortedError when nobody reads any more */
  async #emit(event: Event): Promise<void> {
    if (!(await this.#emitted.emit(event))) throw new RunAbortedError('nobody reads the events of this run any more');
    this.#endIfDone();
  }
}
