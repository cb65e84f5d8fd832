import {
  type BaseLiveRequestQueue,
  type Content,
  createErrorEvent,
  type Event,
  type EventloomError,
  Fifo,
  type FunctionCall,
  type FunctionResponse,
  InvalidRequestError,
  type InvocationContext,
  type LiveRequest,
} from '@eventloom/core';
import { withoutClientId } from '@eventloom/llm-agent/internal';
import type { CloseTimeout } from './close-timeout.ts';
import type { LiveRecordings } from './live-recordings.ts';
import type { QueueLiveRun } from './queue-live-run.ts';
import { type PumpOutcome, RequestPump } from './request-pump.ts';
import type { ServiceSession } from './service-session.ts';
import { isOnlyStreamed } from './streamed-events.ts';
import { takeInWritten, type WrittenRequest } from './take-in-written.ts';

/** What the input of a live run is made of. */
export interface LiveInputParams {
  readonly context: InvocationContext;
  readonly run: QueueLiveRun;
  readonly session: ServiceSession;
  readonly recordings: LiveRecordings | undefined;
  readonly closeTimeout: CloseTimeout;
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
  /** Responses to the model's calls that wait to be sent. They outlive a connection, and come from the runtime, not from the client. */
  readonly answers = new Fifo<LiveRequest>();
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
    const { run, onEmpty } = this.#params;
    const { queue } = run;
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
    this.#params.closeTimeout.until(promise, `the call of ${call.name}`).catch(() => undefined);
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
    const { context, run } = this.#params;
    const { queue } = run;
    for (;;) {
      const request = queue.chars > 0 ? await queue.peek(context.abortSignal) : undefined;
      if (!request) return;
      if (!run.accepted.has(request) && !('blob' in request)) await this.#prepare(request);
      queue.shift();
    }
  }

  /** Drops what the history holds that was sent. */
  async dropStored(history: readonly Content[]): Promise<void> {
    const { context, run } = this.#params;
    const { queue } = run;
    const responses = new HistoryResponses(history);
    this.answers.drop(
      (request) => 'toolResponses' in request && request.toolResponses.every((each) => responses.take(each)),
    );
    if (queue.chars === 0) return;
    const oldest = await queue.peek(context.abortSignal);
    if (oldest && run.accepted.get(oldest)?.isStored) queue.shift();
  }

  #startClient(): void {
    this.#pump = this.#startPump(this.#params.run.queue, (request) => this.#prepare(request));
  }

  #startPump(
    source: Fifo<LiveRequest> | BaseLiveRequestQueue,
    prepare?: (request: LiveRequest) => Prepared,
  ): RequestPump {
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

  /** Accepts a request of the client, once: stores what is written, and copies media to the tools that listen. */
  #prepare(request: LiveRequest): Prepared {
    const { run, recordings } = this.#params;
    const known = run.accepted.get(request);
    if (known) return known.sent;
    if ('content' in request || 'toolResponses' in request) return this.#takeIn(request);
    run.accepted.set(request, { sent: request, isStored: false });
    if (!('blob' in request)) return request;
    // Nothing was said.
    if (request.blob.data === '') return undefined;
    run.copyToTools(request.blob);
    try {
      return recordings?.heard(request.blob)?.then(() => request) ?? request;
    } catch (error) {
      if (!InvalidRequestError.isInstance(error)) throw error;
      run.accepted.set(request, { sent: undefined, isStored: false });
      return this.#tellRefusal(error).then(() => undefined);
    }
  }

  async #takeIn(request: WrittenRequest): Promise<LiveRequest | undefined> {
    const { context, run, closeTimeout, emit, onWritten } = this.#params;
    const { event, sent } = await closeTimeout.until(takeInWritten(context, request), 'onUserMessageCallback');
    run.accepted.set(request, { sent, isStored: !isOnlyStreamed(event) });
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

/** The responses to calls that a history holds. A response that came while the history was made may be missing. */
class HistoryResponses {
  readonly #counts = new Map<string, number>();

  constructor(history: readonly Content[]) {
    for (const { functionResponse } of history.flatMap(({ parts = [] }) => parts)) {
      if (!functionResponse) continue;
      const key = keyOf(functionResponse);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  /** True for a response that the history holds; once for each of its responses. */
  take(functionResponse: FunctionResponse): boolean {
    const key = keyOf(withoutClientId({ functionResponse }).functionResponse ?? functionResponse);
    const left = this.#counts.get(key) ?? 0;
    if (left > 0) this.#counts.set(key, left - 1);
    return left > 0;
  }
}

function keyOf({ id, name, response }: FunctionResponse): string {
  return JSON.stringify([id, name, response]);
}
