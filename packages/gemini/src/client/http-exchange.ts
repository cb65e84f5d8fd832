import type { HttpOptions } from '@google/genai';

type Fetch = NonNullable<HttpOptions['fetch']>;

/**
 * One attempt at one request, observed at `fetch`. Records what the client does not report (whether anything was sent, status and
 * headers of a failed answer), and can end the attempt.
 */
export class HttpExchange {
  readonly #controller = new AbortController();
  readonly #caller: readonly AbortSignal[];
  readonly #abort = () => this.#controller.abort();
  #completed = false;
  /** False for a client that was created elsewhere, whose requests cannot be observed. */
  watched = false;
  /** The response, if one arrived. */
  response: Response | undefined;
  /** The error that `fetch` threw; undefined if it threw none. */
  failure: unknown;

  /** @param callers signals that end the attempt when one of them fires */
  constructor(...callers: readonly (AbortSignal | undefined)[]) {
    this.#caller = callers.filter((signal) => signal !== undefined);
    for (const signal of this.#caller) {
      if (signal.aborted) this.#abort();
      signal.addEventListener('abort', this.#abort);
    }
  }

  /** The signal for the client: fires with the caller's signals, and at `close`. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The signal with which the caller aborted the request; undefined if none has fired. */
  get callerAbort(): { readonly reason: unknown } | undefined {
    return this.#caller.find(({ aborted }) => aborted);
  }

  /** Returns a fetch that is observed. `fetch` is the implementation to use; default: the runtime's. */
  watch(fetch: Fetch | undefined): Fetch {
    this.watched = true;
    return async (input, init) => {
      try {
        const sent = fetch ? fetch(input, init) : globalThis.fetch(input, withoutTimeouts(init));
        return (this.response = await sent);
      } catch (error) {
        this.failure = error;
        throw error;
      }
    };
  }

  /** Ends the observation of an answer that was read to its end. The connection stays open for the next request. */
  complete(): void {
    for (const signal of this.#caller) signal.removeEventListener('abort', this.#abort);
    this.#completed = true;
  }

  /** Ends the attempt and closes all of its resources, including the socket. */
  close(): void {
    if (this.#completed) return;
    this.complete();
    this.#abort();
  }
}

/** The global key under which Node keeps the dispatcher of its `fetch` once that is loaded. No other runtime has it. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/**
 * Removes the time limits of `fetch` on Node, which fails if an answer takes 300 seconds to begin or pauses that long: a model
 * may think longer. `@google/genai` does the same for its own fetch, and not for one that it is given.
 */
export function withoutTimeouts(init: RequestInit | undefined): RequestInit | undefined {
  const dispatcher: unknown = Reflect.get(globalThis, GLOBAL_DISPATCHER);
  if (!isDispatcher(dispatcher)) return init;
  const unlimited: Dispatcher = {
    dispatch: (options, handler) => dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  return { ...init, dispatcher: unlimited } as RequestInit;
}

function isDispatcher(value: unknown): value is Dispatcher {
  return typeof value === 'object' && value !== null && 'dispatch' in value && typeof value.dispatch === 'function';
}
