import {
  type BaseLiveRequestQueue,
  type Content,
  type FunctionCall,
  type FunctionResponse,
  InvalidMessageError,
  InvalidRequestError,
  type InvocationContext,
  type LiveRequest,
} from '@eventloom/core';
import { createErrorEvent, Fifo } from '@eventloom/core/internal';
import { withoutClientId } from '@eventloom/llm-agent/internal';
import type { CloseTimeout } from './close-timeout.ts';
import type { LiveFlow } from './live-flow.ts';
import type { LiveRecordings } from './live-recordings.ts';
import type { QueueLiveRun } from './queue-live-run.ts';
import type { ServiceSession } from './service-session.ts';
import { isOnlyStreamed } from './streamed-events.ts';
import { acceptWritten, createRefusal, type WrittenRequest } from './accept-written.ts';

interface LiveInputParams {
  readonly context: InvocationContext;
  readonly run: QueueLiveRun;
  readonly serviceSession: ServiceSession;
  readonly recordings: LiveRecordings | undefined;
  readonly closeTimeout: CloseTimeout;
  readonly flow: LiveFlow;
}

/** Sends the model the client's requests and the responses to its calls. */
export class LiveInput {
  /** Responses to the model's calls that wait to be sent. They outlive a connection, and come from the runtime, not from the client. */
  readonly responses = new Fifo<LiveRequest>();
  readonly #params: LiveInputParams;
  /** Running calls that transfer control. While there are any, the client's requests wait for the next agent. */
  readonly #held = new Map<FunctionCall, () => void>();
  #isOn = false;
  #watching: AbortController | undefined;
  #pump: RequestPump | undefined;
  #responsePump: RequestPump | undefined;

  constructor(params: LiveInputParams) {
    this.#params = params;
  }

  /**
   * Watches for the end of the client's queue while the live connection is not open. Requests stay in the queue.
   * @param isLost true after a lost connection: waiting speech then does not delay the end of the run, because no client will hear an
   * answer. Written requests are still sent.
   */
  watch(isLost: boolean): void {
    if (this.#watching || this.#held.size > 0) return;
    const { run, flow } = this.#params;
    const { queue } = run;
    const watching = new AbortController();
    this.#watching = watching;
    void queue.peek(watching.signal).then(
      (request) => void (request ?? flow.inputEnded()),
      () => undefined,
    );
    if (!isLost) return;
    const endUnlessWritten = (): void => void (watching.signal.aborted || queue.holdsWritten || flow.inputEnded());
    if (queue.isClosed) endUnlessWritten();
    else void queue.whenClosed().then(endUnlessWritten);
  }

  #stopWatching(): void {
    this.#watching?.abort();
    this.#watching = undefined;
  }

  /** Starts to send. */
  start(): void {
    this.#stopWatching();
    this.#isOn = true;
    this.#responsePump = this.#startPump(this.responses);
    if (this.#held.size === 0) this.#startClient();
  }

  /** Stops sending. Resolves when nothing reads the client's queue. */
  async stop(): Promise<void> {
    this.#isOn = false;
    this.#stopWatching();
    await stopPump(this.#pump);
    await stopPump(this.#responsePump);
    this.#pump = undefined;
    this.#responsePump = undefined;
  }

  /**
   * Holds the client's requests back until a call has ended. If the client closes its queue in that time, the call has
   * until the close timeout.
   */
  hold(call: FunctionCall): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(call, resolve);
    void stopPump(this.#pump);
    this.#params.closeTimeout.until(promise, `the call of ${call.name}`).catch(() => undefined);
  }

  /** Notes that a call has ended. */
  settled(call: FunctionCall): void {
    this.#held.get(call)?.();
  }

  /** Sends the client's requests again, after a call that did not give control away. */
  release(call: FunctionCall): void {
    if (!this.#held.delete(call) || this.#held.size > 0) return;
    const pump = this.#pump;
    void pump?.done.then(() => {
      if (this.#isOn && this.#pump === pump && this.#held.size === 0) this.#startClient();
    });
  }

  /** Stores written requests that were not sent because the client closed its queue and no connection could be opened. */
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

  /** Drops the requests and responses that the history already holds. */
  async dropStored(history: readonly Content[]): Promise<void> {
    const { context, run } = this.#params;
    const { queue } = run;
    const responses = new HistoryResponses(history);
    this.responses.drop(
      (request) => 'toolResponses' in request && request.toolResponses.every((each) => responses.take(each)),
    );
    if (queue.chars === 0) return;
    const oldest = await queue.peek(context.abortSignal);
    if (oldest && run.accepted.get(oldest)?.isStored) queue.shift();
  }

  #startClient(): void {
    this.#pump = this.#startPump(this.#params.run.queue);
  }

  #startPump(source: Fifo<LiveRequest> | BaseLiveRequestQueue): RequestPump {
    const { flow } = this.#params;
    const stopping = new AbortController();
    const done = this.#pumpRequests(source, stopping.signal).catch((error: unknown) => {
      if (!stopping.signal.aborted) flow.failUnlessLost(error);
    });
    return { done, stopping };
  }

  /**
   * Sends the requests of a source until it is closed and empty, or the signal fires. A request leaves its source when the
   * connection has taken it, so that a request which a lost connection did not take is there for the next one.
   */
  async #pumpRequests(source: Fifo<LiveRequest> | BaseLiveRequestQueue, signal: AbortSignal): Promise<void> {
    const { serviceSession, flow } = this.#params;
    for (let request = await source.peek(signal); request; request = await source.peek(signal)) {
      const preparing = source === this.responses ? request : this.#prepare(request);
      const prepared = preparing instanceof Promise ? await preparing : preparing;
      signal.throwIfAborted();
      try {
        if (prepared) await serviceSession.send(prepared);
      } catch (error) {
        if (!InvalidMessageError.isInstance(error)) throw error;
        await this.#emitUnsent(error);
      }
      source.shift();
    }
    flow.inputEnded();
  }

  /** Accepts a request of the client, once: stores text, and copies media to the tools with input streams. */
  #prepare(request: LiveRequest): Prepared {
    const { run, recordings } = this.#params;
    const known = run.accepted.get(request);
    if (known) return known.sent;
    if ('content' in request || 'toolResponses' in request) return this.#accept(request);
    run.accepted.set(request, { sent: request, isStored: false });
    if (!('blob' in request)) return request;
    if (request.blob.data === '') return undefined;
    run.copyToTools(request.blob);
    try {
      return recordings?.heard(request.blob)?.then(() => request) ?? request;
    } catch (error) {
      if (!InvalidRequestError.isInstance(error)) throw error;
      run.accepted.set(request, { sent: undefined, isStored: false });
      return this.#params.flow.emit(createRefusal(this.#params.context, error)).then(() => undefined);
    }
  }

  async #accept(request: WrittenRequest): Promise<LiveRequest | undefined> {
    const { context, run, closeTimeout, flow } = this.#params;
    const { event, sent } = await closeTimeout.until(acceptWritten(context, request), 'onUserMessageCallback');
    run.accepted.set(request, { sent, isStored: event.partial !== true && !isOnlyStreamed(event) });
    await flow.emit(event);
    await flow.resumeAnswered(event);
    return sent;
  }

  /** Emits an error event for a request that the session has and no connection can send. The run continues without it. */
  async #emitUnsent({ code, message }: InvalidMessageError): Promise<void> {
    await this.#params.flow.emit(createErrorEvent(this.#params.context.createEvent(), code, message));
  }
}

/** The request as the model gets it; undefined sends nothing. */
type Prepared = LiveRequest | undefined | Promise<LiveRequest | undefined>;

/** Requests that are being sent. */
interface RequestPump {
  /** Resolves when nothing reads the source any more; never rejects. */
  readonly done: Promise<void>;
  readonly stopping: AbortController;
}

/** Stops after the request that is being sent. */
async function stopPump(pump: RequestPump | undefined): Promise<void> {
  pump?.stopping.abort();
  await pump?.done;
}

/** The responses to calls in a history. A response that arrived while the history was built may be missing. */
class HistoryResponses {
  readonly #counts = new Map<string, number>();

  constructor(history: readonly Content[]) {
    for (const { functionResponse } of history.flatMap(({ parts = [] }) => parts)) {
      if (!functionResponse) continue;
      const key = keyOf(functionResponse);
      this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    }
  }

  /** Returns true if the history holds the response, and counts it as used: two equal calls return true only if the history holds two. */
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
