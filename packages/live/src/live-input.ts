import {
  type BaseLiveRequestQueue,
  type Content,
  createErrorEvent,
  type Event,
  type EventloomError,
  type FunctionCall,
  InvalidRequestError,
  type InvocationContext,
  type LiveRequest,
} from '@eventloom/core';
import { AnswerQueue } from './answer-queue.ts';
import { copyInput } from './copy-input.ts';
import type { LiveRecordings } from './live-recordings.ts';
import type { Patience } from './patience.ts';
import { type PumpOutcome, RequestPump } from './request-pump.ts';
import type { ServiceSession } from './service-session.ts';
import { takeInWritten, type WrittenRequest } from './take-in-written.ts';
import { ToldResponses } from './told-responses.ts';

/**
 * What clients said that was taken in, and what the model is told of it: it may have to be sent once more, by whichever agent has
 * control then.
 */
const TAKEN_IN = new WeakMap<LiveRequest, TakenIn>();

interface TakenIn {
  readonly sent: LiveRequest | undefined;
  /** True for what a history tells. */
  readonly isStored: boolean;
}

/** What the input of a live run is made of. */
export interface LiveInputParams {
  readonly context: InvocationContext;
  readonly queue: BaseLiveRequestQueue;
  readonly session: ServiceSession;
  readonly recordings: LiveRecordings | undefined;
  readonly patience: Patience;
  /** Passes an event on; settles when it was committed. */
  readonly emit: (event: Event) => Promise<void>;
  /** What a client wrote is stored. */
  readonly onWritten: (event: Event) => Promise<void>;
  /** All is sent of what a client said who says no more. */
  readonly onEmpty: () => void;
  readonly onFailure: (error: unknown) => void;
}

/** What the model is sent: what the client says, and what comes of the model's calls. */
export class LiveInput {
  /** What the model is still to be told of its calls. */
  readonly answers = new AnswerQueue();
  readonly #params: LiveInputParams;
  /** Calls under way by which the agent gives control away: what is said meanwhile waits for the next agent. */
  readonly #held = new Map<FunctionCall, () => void>();
  #isOn = false;
  #watching: AbortController | undefined;
  #pump: RequestPump | undefined;
  #answerPump: RequestPump | undefined;

  constructor(params: LiveInputParams) {
    this.#params = params;
  }

  /**
   * While there is no connection: whether the client hangs up. What it says waits.
   * @param isLost a connection was lost, so that what was spoken at last is not waited for: nobody is there to hear an answer. What was written
   * is to be sent all the same.
   */
  watch(isLost: boolean): void {
    if (this.#watching || this.#held.size > 0) return;
    const { queue, onEmpty } = this.#params;
    const watching = new AbortController();
    this.#watching = watching;
    void queue.peek(watching.signal).then(
      (request) => void (request ?? onEmpty()),
      () => undefined,
    );
    if (!isLost) return;
    const endUnlessWritten = (): void => void (watching.signal.aborted || queue.holdsWritten || onEmpty());
    if (queue.isClosed) endUnlessWritten();
    else void queue.whenClosed().then(endUnlessWritten);
  }

  #stopWatching(): void {
    this.#watching?.abort();
    this.#watching = undefined;
  }

  /** Sends from now on. */
  start(): void {
    this.#stopWatching();
    this.#isOn = true;
    this.#answerPump = this.#startPump(this.answers);
    if (this.#held.size === 0) this.#startClient();
  }

  /** Settles when nothing reads the client's queue any more. */
  async stop(): Promise<void> {
    this.#isOn = false;
    this.#stopWatching();
    await this.#pump?.stop();
    await this.#answerPump?.stop();
    this.#pump = undefined;
    this.#answerPump = undefined;
  }

  /** The client is heard no more until the call is over. When it hangs up meanwhile, the call gets some seconds. */
  hold(call: FunctionCall): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(call, resolve);
    void this.#pump?.stop();
    this.#params.patience.until(promise, `the call of ${call.name}`).catch(() => undefined);
  }

  /** The call is over. */
  settled(call: FunctionCall): void {
    this.#held.get(call)?.();
  }

  /** The call did not give control away: the agent goes on listening. */
  release(call: FunctionCall): void {
    if (!this.#held.delete(call) || this.#held.size > 0) return;
    const pump = this.#pump;
    void pump?.done.then(() => {
      if (this.#isOn && this.#pump === pump && this.#held.size === 0) this.#startClient();
    });
  }

  /** Stores what was written and is not sent any more: the client hung up, and no connection could be made. */
  async storeRest(): Promise<void> {
    const { context, queue } = this.#params;
    for (;;) {
      const request = queue.chars > 0 ? await queue.peek(context.abortSignal) : undefined;
      if (!request) return;
      if (!TAKEN_IN.has(request) && !('blob' in request)) await this.#prepare(request);
      queue.shift();
    }
  }

  /** What is in a history that was sent is told with it. */
  async dropTold(history: readonly Content[]): Promise<void> {
    const { context, queue } = this.#params;
    const told = new ToldResponses(history);
    this.answers.drop(
      (request) => 'toolResponses' in request && request.toolResponses.every((each) => told.take(each)),
    );
    if (queue.chars === 0) return;
    const oldest = await queue.peek(context.abortSignal);
    if (oldest && TAKEN_IN.get(oldest)?.isStored) queue.shift();
  }

  #startClient(): void {
    this.#pump = this.#startPump(this.#params.queue, (request) => this.#prepare(request));
  }

  #startPump(source: AnswerQueue | BaseLiveRequestQueue, prepare?: (request: LiveRequest) => Prepared): RequestPump {
    const { session, onEmpty, onFailure } = this.#params;
    const send = (request: LiveRequest) => session.send(request);
    const onRefused = (error: EventloomError) => this.#tellRefusal(error);
    const pump = new RequestPump({ source, send, onRefused, ...(prepare && { prepare }) });
    void pump.done.then((outcome: PumpOutcome) => {
      if (outcome === 'empty') onEmpty();
      else if (outcome !== 'stopped') onFailure(outcome.error);
    });
    return pump;
  }

  /** Takes in what the client says, once: what is written is stored, tools that listen hear it. */
  #prepare(request: LiveRequest): Prepared {
    const known = TAKEN_IN.get(request);
    if (known) return known.sent;
    if ('content' in request || 'toolResponses' in request) return this.#takeIn(request);
    TAKEN_IN.set(request, { sent: request, isStored: false });
    if (!('blob' in request)) return request;
    // Nothing was said.
    if (request.blob.data === '') return undefined;
    const { queue, recordings } = this.#params;
    copyInput(queue, request.blob);
    try {
      return recordings?.heard(request.blob)?.then(() => request) ?? request;
    } catch (error) {
      if (!InvalidRequestError.isInstance(error)) throw error;
      TAKEN_IN.set(request, { sent: undefined, isStored: false });
      return this.#tellRefusal(error).then(() => undefined);
    }
  }

  async #takeIn(request: WrittenRequest): Promise<LiveRequest | undefined> {
    const { context, queue, patience, emit, onWritten } = this.#params;
    const { event, sent } = await patience.until(takeInWritten(context, request), 'onUserMessageCallback');
    TAKEN_IN.set(request, { sent, isStored: !queue.isOnlyStreamed(event) });
    await emit(event);
    await onWritten(event);
    return sent;
  }

  /** What cannot be taken is told and left out: the call goes on. */
  async #tellRefusal({ code, message }: EventloomError): Promise<void> {
    await this.#params.emit(createErrorEvent(this.#params.context.createEvent(), code, message));
  }
}

type Prepared = LiveRequest | undefined | Promise<LiveRequest | undefined>;
