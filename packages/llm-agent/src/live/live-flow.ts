import {
  type AbortGuard,
  ConfigurationError,
  createErrorEvent,
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
import { ReconnectPolicy } from './reconnect-policy.ts';
import { ServiceSession } from './service-session.ts';

/** The code of the event that tells of the end of a run whose service gives a session no more time. */
const SESSION_TIME_LIMIT = 'SESSION_TIME_LIMIT';

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
  #isTimeShort = false;

  /** @throws ConfigurationError outside a live run */
  constructor(step: Step, emitted: EmittedEvents) {
    const { agent, context } = step;
    const queue = context.liveRequestQueue;
    if (!queue) throw new ConfigurationError(`agent "${agent.name}": there is no liveRequestQueue to run live with`);
    this.#step = step;
    this.#context = context;
    this.#emitted = emitted;
    const session = new ServiceSession(context);
    const emit = (event: Event): Promise<void> => this.#emit(event);
    const recordings = context.runConfig.saveLiveBlob ? new LiveRecordings(context, emit) : undefined;
    this.#session = session;
    this.#recordings = recordings;
    this.#policy = new ReconnectPolicy(context);
    this.#connecting = context.forkAbort();
    this.#ending = new LiveEnding(() => {
      void session.connection?.close();
      if (this.#ending.isOver) this.#connecting.abort(new RunAbortedError('the live run is over'));
    });
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
      onHandOver: () => this.#ending.end('handedOver'),
      onSettled: (call) => {
        this.#input.release(call);
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
    try {
      while (!this.#ending.isOver) {
        this.#input.watch();
        try {
          await this.#runConnection();
        } catch (error) {
          if (this.#ending.isOver) break;
          this.#context.throwIfAborted();
          await this.#leave();
          this.#input.watch();
          await this.#afterLoss(error);
        } finally {
          await this.#leave();
        }
      }
    } catch (error) {
      this.#ending.fail(error);
    }
    await this.#calls.stop();
  }

  /** Passes on what was said so far. @throws what the run fails with */
  async #finish(): Promise<void> {
    const { reason, failure } = this.#ending;
    if (failure) throw failure.error;
    if (reason === 'stopped') return;
    await this.#output.flush(false);
    await this.#recordings?.end();
    if (reason !== 'timedOut') return;
    this.#context.endInvocation();
    await this.#emit(this.#timeLimitEvent());
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
    const { request } = call;
    this.#tools = request.toolsDict;
    context.countLlmCall();
    this.#ending.goOn();
    const connecting = this.#connecting;
    const connection = await connecting.until(model.connect(request, connecting.signal));
    if (this.#ending.isOver) return connection.close();
    this.#isTimeShort = false;
    if (handle === undefined) {
      await this.#session.begin(connection, request.contents);
      if (request.contents.length > 0) await this.#input.dropTold(request.contents);
    } else await this.#session.resume(connection);
    this.#input.start();
    for await (const response of connection.receive()) {
      if (!response.goAway) this.#policy.succeeded();
      await this.#take(response);
    }
    if (!this.#ending.isLeaving) throw new LiveConnectionError('the connection ended', { isRetryable: true });
  }

  async #take(response: LiveLlmResponse): Promise<void> {
    const { toolCallCancellation, goAway } = response;
    if (toolCallCancellation) this.#calls.cancel(toolCallCancellation.ids);
    await this.#output.take(response);
    this.#session.note(response);
    if (goAway) this.#isTimeShort = true;
    // A turn is let come to its end; when the time does not suffice, the service ends the connection itself.
    const isDue = this.#isTimeShort && !this.#output.isSpeaking;
    if (isDue && this.#context.runConfig.liveReconnect !== false) this.#ending.end('reconnecting');
  }

  async #leave(): Promise<void> {
    await this.#session.hangUp();
    await this.#input.stop();
  }

  /** Settles when the next connection is to be made, or none is. @throws the error when it ends the run */
  async #afterLoss(error: unknown): Promise<void> {
    const isHandleRefused = LiveConnectionError.isInstance(error) && error.isHandleRefused;
    if (isHandleRefused && this.#session.handle !== undefined) this.#session.giveUpHandle();
    else if (this.#isTimeShort && this.#context.runConfig.liveReconnect === false) this.#ending.end('timedOut');
    else await this.#policy.failed(error, this.#connecting);
  }

  /** Goes on with calls that waited for what the client wrote, also of agents that handed over since. */
  async #resumeCalls(event: Event): Promise<void> {
    for (const { step, resumed } of answeredAgents(this.#step, event)) {
      const tools = step === this.#step ? this.#tools : await prepareTools(step);
      const calls = Array.from(resumed.values(), ({ call }) => call);
      this.#calls.start({ step, tools, eventId: '', calls, resumed });
    }
  }

  /** An invocation that was ended goes on until its calls are over: what came of them is stored. */
  #endIfDone(): void {
    if (this.#context.isEnded && !this.#calls.isBusy) this.#ending.end('ended');
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

  #timeLimitEvent(): Event {
    return createErrorEvent(
      this.#context.createEvent(),
      SESSION_TIME_LIMIT,
      'the service ended the session: its time is over, and runConfig.liveReconnect is false',
    );
  }
}
