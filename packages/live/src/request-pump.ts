import { InvalidMessageError, type LiveRequest } from '@eventloom/core';

/** A queue of requests that wait to be sent. For one reader at a time. */
interface RequestSource {
  /** Resolves to the oldest request, which stays until `shift`, or to undefined when none will come. @throws when the signal fires first */
  peek(abortSignal: AbortSignal): Promise<LiveRequest | undefined>;
  shift(): void;
}

interface RequestPumpParams {
  readonly source: RequestSource;
  /** Returns the request to send in place of one; undefined sends nothing. Called again when the request is sent again. */
  readonly prepare?: (request: LiveRequest) => LiveRequest | undefined | Promise<LiveRequest | undefined>;
  /** Resolves when the connection took the request. */
  readonly send: (request: LiveRequest) => Promise<void>;
  /** Called for a request that no connection can send: it is left out. */
  readonly onRefused: (error: InvalidMessageError) => Promise<void>;
}

/** The end of a pump: it was stopped, its source is closed and empty, or it failed. */
export type PumpOutcome = 'stopped' | 'empty' | { readonly error: unknown };

/**
 * Sends the requests of a source until it is closed and empty. A request leaves its source when the connection has taken it, so that a
 * request which a lost connection did not take is there for the next one.
 */
export class RequestPump {
  /** Resolves when the pump no longer reads its source; never rejects. */
  readonly done: Promise<PumpOutcome>;
  readonly #stopping = new AbortController();

  constructor(params: RequestPumpParams) {
    this.done = this.#run(params);
  }

  /** Stops after the request that is being sent. */
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
