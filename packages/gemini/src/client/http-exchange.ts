import type { HttpOptions } from '@google/genai';

type Fetch = NonNullable<HttpOptions['fetch']>;

/**
 * One attempt at one request, seen from the socket: it knows what the client does not report (whether anything was sent, status
 * and headers of a failed answer), and ends it.
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
  /** The error that `fetch` threw, if it did. */
  failure: unknown;

  /** The attempt ends when one of the caller's signals fires. */
  constructor(...callers: readonly (AbortSignal | undefined)[]) {
    this.#caller = callers.filter((signal) => signal !== undefined);
    for (const signal of this.#caller) {
      if (signal.aborted) this.#abort();
      signal.addEventListener('abort', this.#abort);
    }
  }

  /** Signal for the client: fires with the caller's, and at `close`. A new one for each read, because clients leave listeners on it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The reason with which the caller aborted the request, or undefined if it did not. */
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

  /** The answer was read to its end: nothing is left to close, and the connection stays for the next. */
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

/** The key under which node keeps the dispatcher of its `fetch` once that is loaded. No other runtime has it. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/**
 * Takes the limits off a fetch on node, which gives up on an answer that takes 300 seconds to begin or pauses as long: a model
 * may think longer. `@google/genai` does the same for its own fetch and leaves it out for one that is handed in.
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
