import { InvalidMessageError, type LiveRequest } from '@eventloom/core';

/** Where requests wait until they are sent. For one reader at a time. */
export interface RequestSource {
  /** The oldest, which stays until `shift`; undefined when none will ever come. @throws when the signal fires before there is one */
  peek(abortSignal: AbortSignal): Promise<LiveRequest | undefined>;
  shift(): void;
}

/** What a pump is made of. */
export interface RequestPumpParams {
  readonly source: RequestSource;
  /** What is sent in a request's place; nothing when undefined. Asked again when it is sent anew. */
  readonly prepare?: (request: LiveRequest) => LiveRequest | undefined | Promise<LiveRequest | undefined>;
  /** Settles when it was taken. */
  readonly send: (request: LiveRequest) => Promise<void>;
  /** Told of what cannot be sent on any connection: it is left out. */
  readonly onRefused: (error: InvalidMessageError) => Promise<void>;
}

/** How a pump came to its end: it was stopped, its source is closed and empty, or what it was thrown. */
export type PumpOutcome = 'stopped' | 'empty' | { readonly error: unknown };

/**
 * Sends what waits until the source is closed and empty. A request leaves its source when the connection has taken it, so what a lost
 * connection did not take is there for the next.
 */
export class RequestPump {
  /** Settles when it reads its source no more; never rejects. */
  readonly done: Promise<PumpOutcome>;
  readonly #stopping = new AbortController();

  constructor(params: RequestPumpParams) {
    this.done = this.#run(params);
  }

  /** Sends nothing more, but for what is on its way. */
  stop(): Promise<PumpOutcome> {
    this.#stopping.abort();
    return this.done;
  }

  async #run({ source, prepare, send, onRefused }: RequestPumpParams): Promise<PumpOutcome> {
    const { signal } = this.#stopping;
    try {
      for (let request = await source.peek(signal); request; request = await source.peek(signal)) {
        const prepared = prepare ? prepare(request) : request;
        const ready = prepared instanceof Promise ? await prepared : prepared;
        signal.throwIfAborted();
        try {
          if (ready) await send(ready);
        } catch (error) {
          if (!InvalidMessageError.isInstance(error)) throw error;
          await onRefused(error);
        }
        source.shift();
      }
      return 'empty';
    } catch (error) {
      return signal.aborted ? 'stopped' : { error };
    }
  }
}
