import type { BaseLlmConnection, LiveRequest, LiveRequestQueue } from '@eventloom/core';

/** What is sent in a request's place; nothing when undefined. Asked again when it is sent anew. */
export type ToSend = (request: LiveRequest) => LiveRequest | undefined | Promise<LiveRequest | undefined>;

/** How a pump came to its end: it was stopped, its queue is closed and empty, or what it was thrown. */
export type PumpOutcome = 'stopped' | 'empty' | { readonly error: unknown };

/**
 * Sends what is in a queue until the queue is closed and empty. A request leaves the queue when the connection has taken it, so what
 * a lost connection did not take is there for the next.
 */
export class RequestPump {
  /** Settles when it reads its queue no more; never rejects. */
  readonly done: Promise<PumpOutcome>;
  readonly #stopping = new AbortController();

  constructor(queue: LiveRequestQueue, connection: BaseLlmConnection, toSend: ToSend) {
    this.done = this.#run(queue, connection, toSend);
  }

  /** Sends nothing more, but for what is on its way. */
  stop(): Promise<PumpOutcome> {
    this.#stopping.abort();
    return this.done;
  }

  async #run(queue: LiveRequestQueue, connection: BaseLlmConnection, toSend: ToSend): Promise<PumpOutcome> {
    const { signal } = this.#stopping;
    try {
      for (let request = await queue.peek(signal); request; request = await queue.peek(signal)) {
        const pending = toSend(request);
        const sent = pending instanceof Promise ? await pending : pending;
        signal.throwIfAborted();
        if (sent) await send(connection, sent);
        queue.shift();
      }
      return 'empty';
    } catch (error) {
      return signal.aborted ? 'stopped' : { error };
    }
  }
}

function send(connection: BaseLlmConnection, request: LiveRequest): Promise<void> {
  if ('blob' in request) return connection.sendRealtime(request.blob);
  if ('content' in request) return connection.sendContent(request.content);
  if ('toolResponses' in request) return connection.sendToolResponses(request.toolResponses);
  return 'activityStart' in request ? connection.sendActivityStart() : connection.sendActivityEnd();
}
