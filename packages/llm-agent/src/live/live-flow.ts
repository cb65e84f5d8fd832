import {
  appendTools,
  type BaseLlmConnection,
  ConfigurationError,
  createEventActions,
  createErrorEvent,
  type Event,
  type FunctionCall,
  getOwn,
  type InvocationContext,
  LiveConnectionError,
  type LiveLlmResponse,
  type LiveRequest,
  LiveRequestQueue,
  type LlmRequest,
  RunAbortedError,
} from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import type { EmittedEvents } from '../step/emitted-events.ts';
import { ModelReply } from '../step/model-reply.ts';
import { callsToRun } from '../step/open-calls.ts';
import { copyInput } from './copy-input.ts';
import { givesControlAway } from './gives-control-away.ts';
import { LiveCalls } from './live-calls.ts';
import { LiveRecording } from './live-recording.ts';
import { LiveTurn } from './live-turn.ts';
import { givenHandle, prepareLiveRequest } from './prepare-live-request.ts';
import { ReconnectPolicy } from './reconnect-policy.ts';
import { RequestPump, type ToSend } from './request-pump.ts';
import { resumedBy, takeInWritten, type WrittenRequest } from './take-in-written.ts';
import { STOP_STREAMING, StopStreamingTool } from './stop-streaming-tool.ts';

/**
 * Why the agent speaks with a connection no longer: the client closed its queue, the agent handed over, another connection takes
 * its place, the service's time for a session is over, or the run is.
 */
type Ending = 'closed' | 'handedOver' | 'reconnecting' | 'timedOut' | 'stopped';

/** The code of the event that tells of the end of a run whose service gives a session no more time. */
const SESSION_TIME_LIMIT = 'SESSION_TIME_LIMIT';
/**
 * What clients said that was taken in, and what the model is told of it: it may have to be sent once more, by whichever agent has
 * control then.
 */
const TAKEN_IN = new WeakMap<LiveRequest, { readonly sent: LiveRequest | undefined }>();

interface Recordings {
  readonly input: LiveRecording;
  readonly output: LiveRecording;
}

/** One agent's part of a live run: its connections, one after the other, and what goes on around them. */
export class LiveFlow {
  readonly #step: Step;
  readonly #context: InvocationContext;
  readonly #emitted: EmittedEvents;
  readonly #queue: LiveRequestQueue;
  /** What the model is still to be told of its calls: it outlives a connection as the client's queue does. */
  readonly #answers = new LiveRequestQueue({ maxChars: Number.MAX_SAFE_INTEGER });
  readonly #turn: LiveTurn;
  readonly #calls: LiveCalls;
  readonly #policy: ReconnectPolicy;
  /** Hand-overs that are under way: what is said meanwhile waits for the next agent. */
  readonly #handingOver = new Set<FunctionCall>();
  /** The audio of both sides, where it is to be saved. */
  readonly #recordings: Recordings | undefined;
  #tools: LlmRequest['toolsDict'] = {};
  #handle: string | undefined;
  #isTimeShort = false;
  #connection: BaseLlmConnection | undefined;
  #pump: RequestPump | undefined;
  #answerPump: RequestPump | undefined;
  #ending: Ending | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @throws ConfigurationError outside a live run */
  constructor(step: Step, emitted: EmittedEvents) {
    const { context } = step;
    const queue = context.liveRequestQueue;
    if (!queue)
      throw new ConfigurationError(`agent "${step.agent.name}": there is no liveRequestQueue to run live with`);
    this.#step = step;
    this.#context = context;
    this.#emitted = emitted;
    this.#queue = queue;
    this.#handle = givenHandle(context.runConfig.sessionResumption);
    if (context.runConfig.saveLiveBlob)
      this.#recordings = { input: new LiveRecording(context, 'input'), output: new LiveRecording(context, 'output') };
    this.#policy = new ReconnectPolicy(context);
    this.#turn = new LiveTurn(context, (content) => {
      const event = new ModelReply(step, this.#tools).whole({ content }, createEventActions());
      const { usageMetadata: _, ...callEvent } = event;
      return callEvent;
    });
    this.#calls = new LiveCalls({
      step,
      emit: (event) => this.#emit(event),
      answer: (responses) => this.#answers.sendToolResponse(...responses),
      tell: (content) => this.#answers.sendContent(content),
      onHandOver: () => this.#end('handedOver'),
      onSettled: (call) => this.#settled(call),
      onFailure: (error) => this.#fail(error),
    });
  }

  /** Speaks until there is a reason to stop. @throws what the run fails with */
  async run(): Promise<void> {
    const { abortSignal } = this.#context;
    const hangUp = (): void => void this.#connection?.close();
    abortSignal.addEventListener('abort', hangUp, { once: true });
    try {
      while (!this.#isOver) {
        try {
          await this.#runConnection();
        } catch (error) {
          if (this.#isOver) break;
          this.#context.throwIfAborted();
          await this.#afterLoss(error);
        } finally {
          await this.#hangUp();
        }
      }
    } catch (error) {
      this.#failure ??= { error };
    }
    abortSignal.removeEventListener('abort', hangUp);
    await this.#calls.stop();
    if (this.#failure) throw this.#failure.error;
    if (this.#ending === 'stopped') return;
    await this.#emitAll(this.#turn.flush(false));
    await this.#flushRecording(this.#recordings?.output);
    await this.#flushRecording(this.#recordings?.input);
    if (this.#ending !== 'timedOut') return;
    this.#context.endInvocation();
    await this.#emit(this.#timeLimitEvent());
  }

  /** Ends the flow, whatever it is doing: nobody reads its events any more. */
  stop(): void {
    this.#end('stopped');
  }

  get #isOver(): boolean {
    return this.#failure !== undefined || (this.#ending !== undefined && this.#ending !== 'reconnecting');
  }

  /** Makes a connection and reads it to its end. */
  async #runConnection(): Promise<void> {
    const { model, context } = this.#step;
    const handle = this.#handle;
    // A history is all that the connection knows: it holds what was said so far.
    if (handle === undefined) await this.#emitAll(this.#turn.flush(true));
    const request = await prepareLiveRequest(this.#step, handle);
    if (
      Object.values(request.toolsDict).some((tool) => tool.hasInputStream) &&
      !getOwn(request.toolsDict, STOP_STREAMING)
    )
      appendTools(request, [new StopStreamingTool((toolName) => this.#calls.stopStreaming(toolName))]);
    this.#tools = request.toolsDict;
    if (this.#ending === 'reconnecting') this.#ending = undefined;
    const connection = await context.untilAborted(model.connect(request, context.abortSignal));
    this.#connection = connection;
    if (this.#isOver) return;
    if (handle === undefined && request.contents.length > 0) {
      await connection.sendHistory(request.contents);
      await this.#dropTold();
    }
    this.#isTimeShort = false;
    this.#startPump(connection);
    this.#answerPump = this.#startPumpOf(this.#answers, connection, (request) => request);
    for await (const response of connection.receive()) {
      if (!response.goAway) this.#policy.succeeded();
      await this.#take(response);
    }
    if (this.#ending === undefined && !this.#failure)
      throw new LiveConnectionError('the connection ended', { isRetryable: true });
  }

  /** Keeps the model's audio, and saves what is kept before the event that ends it. */
  async #record(event: Event, { input, output }: Recordings): Promise<void> {
    const { content, author, turnComplete, interrupted, outputTranscription } = event;
    if (author !== 'user') {
      for (const { inlineData } of content?.parts ?? [])
        if (inlineData && output.add(inlineData)) await this.#flushRecording(output);
    }
    const isEnd = turnComplete === true || (interrupted === true && !content && !outputTranscription);
    if (isEnd) await this.#flushRecording(output);
    if (turnComplete === true) await this.#flushRecording(input);
  }

  async #flushRecording(recording: LiveRecording | undefined): Promise<void> {
    const event = await recording?.flush();
    if (event) await this.#emit(event);
  }

  /** Settles when the next connection is to be made, or none is. @throws the error when it ends the run */
  async #afterLoss(error: unknown): Promise<void> {
    const isHandleRefused = LiveConnectionError.isInstance(error) && error.isHandleRefused;
    if (isHandleRefused && this.#handle !== undefined) this.#handle = undefined;
    else if (this.#isTimeShort && this.#context.runConfig.liveReconnect === false) this.#ending = 'timedOut';
    else await this.#policy.failed(error);
  }

  async #take(response: LiveLlmResponse): Promise<void> {
    const { toolCallCancellation, liveSessionResumptionUpdate: update, goAway } = response;
    if (toolCallCancellation) this.#calls.cancel(toolCallCancellation.ids);
    for (const event of this.#turn.take(response)) {
      const calls = event.partial === true ? [] : callsToRun(event.content?.parts);
      // What the user says from here on is for whom the agent hands over to.
      for (const call of calls) if (givesControlAway(call, this.#context)) this.#handingOver.add(call);
      if (this.#handingOver.size > 0) void this.#pump?.stop();
      if (this.#recordings) await this.#record(event, this.#recordings);
      await this.#emit(event);
      if (calls.length > 0) this.#calls.start(event.id, calls, this.#tools);
    }
    if (response.generationComplete === true) await this.#flushRecording(this.#recordings?.output);
    if (update?.newHandle !== undefined && update.resumable !== false) this.#handle = update.newHandle;
    if (goAway) this.#isTimeShort = true;
    // A turn is let come to its end; when the time does not suffice, the service ends the connection itself.
    const isDue = this.#isTimeShort && !this.#turn.isSpeaking;
    if (isDue && this.#context.runConfig.liveReconnect !== false) this.#end('reconnecting');
  }

  /** What was stored before a history was sent is told with it. */
  async #dropTold(): Promise<void> {
    while (this.#answers.chars > 0) this.#answers.shift();
    if (this.#queue.chars === 0) return;
    const oldest = await this.#queue.peek(this.#context.abortSignal);
    if (oldest && TAKEN_IN.has(oldest) && !('blob' in oldest)) this.#queue.shift();
  }

  #startPump(connection: BaseLlmConnection): void {
    if (this.#handingOver.size > 0) return;
    this.#pump = this.#startPumpOf(this.#queue, connection, (request) => this.#toSend(request));
  }

  #startPumpOf(queue: LiveRequestQueue, connection: BaseLlmConnection, toSend: ToSend): RequestPump {
    const pump = new RequestPump(queue, connection, toSend);
    void pump.done.then((outcome) => {
      if (outcome === 'empty') this.#end('closed');
      else if (outcome !== 'stopped') this.#failUnlessLost(outcome.error);
    });
    return pump;
  }

  /** Takes in what the client says, once: what is written is stored, tools that listen hear it. */
  #toSend(request: LiveRequest): LiveRequest | undefined | Promise<LiveRequest | undefined> {
    const known = TAKEN_IN.get(request);
    if (known) return known.sent;
    if ('content' in request || 'toolResponses' in request) return this.#takeIn(request);
    TAKEN_IN.set(request, { sent: request });
    if (!('blob' in request)) return request;
    copyInput(this.#context, request.blob);
    const input = this.#recordings?.input;
    return input?.add(request.blob) ? this.#flushRecording(input).then(() => request) : request;
  }

  async #takeIn(request: WrittenRequest): Promise<LiveRequest | undefined> {
    const { event, sent } = await takeInWritten(this.#context, request);
    TAKEN_IN.set(request, { sent });
    await this.#emit(event);
    const resumed = resumedBy(this.#context, event);
    if (resumed.size > 0)
      this.#calls.start(
        '',
        Array.from(resumed.values(), ({ call }) => call),
        this.#tools,
        resumed,
      );
    return sent;
  }

  #settled(call: FunctionCall): void {
    if (!this.#handingOver.delete(call) || this.#isOver || this.#ending || !this.#connection) return;
    // The hand-over did not come about: the agent goes on listening.
    const connection = this.#connection;
    void this.#pump?.done.then(() => {
      if (this.#connection === connection && !this.#isOver) this.#startPump(connection);
    });
  }

  /** The first reason counts. */
  #end(ending: Ending): void {
    if (this.#isOver) return;
    if (ending === 'reconnecting' && this.#ending) return;
    this.#ending = ending;
    void this.#connection?.close();
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#failure = { error };
    void this.#connection?.close();
  }

  /** What a connection throws when it is lost, its reader gets as well. */
  #failUnlessLost(error: unknown): void {
    if (!LiveConnectionError.isInstance(error) && !RunAbortedError.isInstance(error)) this.#fail(error);
  }

  /** Closes the connection, and waits until nothing of it reads the client's queue any more. */
  async #hangUp(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.close();
    await this.#pump?.stop();
    await this.#answerPump?.stop();
    this.#pump = undefined;
    this.#answerPump = undefined;
  }

  async #emitAll(events: Iterable<Event>): Promise<void> {
    for (const event of events) await this.#emit(event);
  }

  /** @throws RunAbortedError when nobody reads any more */
  async #emit(event: Event): Promise<void> {
    if (!(await this.#emitted.emit(event))) throw new RunAbortedError('nobody reads the events of this run any more');
  }

  #timeLimitEvent(): Event {
    return createErrorEvent(
      this.#context.createEvent(),
      SESSION_TIME_LIMIT,
      'the service ended the session: its time is over, and runConfig.liveReconnect is false',
    );
  }
}
