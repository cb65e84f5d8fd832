import {
  type AbortGuard,
  ConfigurationError,
  type Event,
  type InvocationContext,
  LiveConnectionError,
  type LiveLlmResponse,
  type LlmRequest,
  RunAbortedError,
} from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import type { EmittedEvents } from '../step/emitted-events.ts';
import { ModelCall } from '../step/model-call.ts';
import { prepareTools } from '../step/prepare-request.ts';
import { answeredAgents } from './answered-agents.ts';
import { givesControlAway } from './gives-control-away.ts';
import { LiveCalls } from './live-calls.ts';
import { LiveEnding } from './live-ending.ts';
import { LiveInput } from './live-input.ts';
import { LiveOutput } from './live-output.ts';
import { LiveRecordings } from './live-recordings.ts';
import { prepareLiveRequest } from './prepare-live-request.ts';
import { isLoss, ReconnectPolicy } from './reconnect-policy.ts';
import { ServiceSession } from './service-session.ts';
import { timeLimitEvent } from './time-limit-event.ts';

/** One agent's part of a live run: its connections, one after the other, and what goes on around them. */
export class LiveFlow {
  readonly #step: Step;
  readonly #context: InvocationContext;
  readonly #emitted: EmittedEvents;
  readonly #session: ServiceSession;
  readonly #recordings: LiveRecordings | undefined;
  readonly #input: LiveInput;
  readonly #output: LiveOutput;
  readonly #calls: LiveCalls;
  readonly #policy: ReconnectPolicy;
  readonly #ending: LiveEnding;
  /** Aborted when no connection is to be made any more: waits for one end. */
  readonly #connecting: AbortGuard;
  #tools: LlmRequest['toolsDict'] = {};

  /** @throws ConfigurationError outside a live run */
  constructor(step: Step, emitted: EmittedEvents) {
    const { agent, context } = step;
    const queue = context.liveRequestQueue;
    if (!queue) throw new ConfigurationError(`agent "${agent.name}": there is no liveRequestQueue to run live with`);
    this.#step = step;
    this.#context = context;
    this.#emitted = emitted;
    const session = new ServiceSession(context, queue);
    const emit = (event: Event): Promise<void> => this.#emit(event);
    const recordings = context.runConfig.saveLiveBlob ? new LiveRecordings(context, emit) : undefined;
    this.#session = session;
    this.#recordings = recordings;
    this.#connecting = context.forkAbort();
    this.#ending = new LiveEnding(() => {
      void session.connection?.close();
      if (this.#ending.isOver) this.#connecting.abort(new RunAbortedError('the live run is over'));
    });
    this.#policy = new ReconnectPolicy({ context, session, ending: this.#ending, waiting: this.#connecting });
    this.#input = new LiveInput({
      context,
      queue,
      session,
      recordings,
      emit,
      onWritten: (event) => this.#resumeCalls(event),
      onEmpty: () => this.#ending.end('closed'),
      onFailure: (error) => this.#failUnlessLost(error),
    });
    this.#output = new LiveOutput({
      step,
      recordings,
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
        if (!this.#calls.isHandingOver) this.#input.release(call);
        // Who hangs up waits for no call.
        else if (this.#calls.isBusy) void queue.whenClosed().then(() => this.#ending.end('handedOver'));
        this.#endIfDone();
      },
      onFailure: (error) => this.#ending.fail(error),
    });
  }

  /** Speaks until there is a reason to stop. @throws what the run fails with */
  async run(): Promise<void> {
    const { abortSignal, progress } = this.#context;
    const hangUp = (): void => void this.#session.connection?.close();
    abortSignal.addEventListener('abort', hangUp, { once: true });
    progress.endsItself = true;
    try {
      await this.#speak();
      await this.#finish();
    } finally {
      progress.endsItself = false;
      this.#context.dropAbort(this.#connecting);
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
          if (!this.#ending.isOver) await this.#takeLeave();
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
      this.#ending.fail(error);
    }
    await this.#calls.stop();
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
    await this.#tellRest(false);
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
    const call = new ModelCall(this.#step, await prepareLiveRequest(this.#step, handle, this.#calls));
    const answer = await this.#output.begin(call);
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
    const connecting = this.#connecting;
    const connection = await connecting.until(model.connect(request, connecting.signal));
    if (this.#ending.isOver) return connection.close();
    this.#policy.connected();
    if (handle === undefined) {
      await this.#session.begin(connection, request.contents);
      if (request.contents.length > 0) await this.#input.dropTold(request.contents);
    } else await this.#session.resume(connection);
    this.#input.start();
    for await (const response of connection.receive()) await this.#take(response);
    if (!this.#ending.isLeaving) throw new LiveConnectionError('the connection ended', { isRetryable: true });
  }

  async #take(response: LiveLlmResponse): Promise<void> {
    const { toolCallCancellation } = response;
    this.#session.arrived(response);
    this.#policy.heard(response);
    if (toolCallCancellation) this.#calls.cancel(toolCallCancellation.ids);
    await this.#output.take(response);
    this.#session.note(response);
    // A turn is let come to its end; when the time does not suffice, the service ends the connection itself.
    if (this.#policy.isLeaveDue && !this.#output.isSpeaking) this.#ending.end('reconnecting');
    this.#endIfDone();
  }

  /** Settles when the next connection is to be made after one whose time was over. */
  async #takeLeave(): Promise<void> {
    await this.#leave();
    this.#input.watch(false);
    await this.#policy.afterLeave();
  }

  async #leave(): Promise<void> {
    await this.#session.hangUp();
    await this.#input.stop();
  }

  /** Goes on with calls that waited for what the client wrote, also of agents that handed over since. */
  async #resumeCalls(event: Event): Promise<void> {
    for (const { step, resumed } of answeredAgents(this.#step, event)) {
      const tools = step === this.#step ? this.#tools : await prepareTools(step);
      const calls = Array.from(resumed.values(), ({ call }) => call);
      this.#calls.start({ step, tools, eventId: '', calls, resumed });
    }
  }

  /** An invocation that was ended, and an agent that hands over, go on until the calls are over: what came of them is stored. */
  #endIfDone(): void {
    if ((this.#context.isEnded || this.#calls.isHandingOver) && !this.#calls.isBusy)
      this.#ending.end(this.#calls.isHandingOver ? 'handedOver' : 'ended');
  }

  /** What a connection throws when it is lost, its reader gets as well. */
  #failUnlessLost(error: unknown): void {
    if (!LiveConnectionError.isInstance(error) && !RunAbortedError.isInstance(error)) this.#ending.fail(error);
  }

  /** @throws RunAbortedError when nobody reads any more */
  async #emit(event: Event): Promise<void> {
    if (!(await this.#emitted.emit(event))) throw new RunAbortedError('nobody reads the events of this run any more');
    this.#endIfDone();
  }
}
