/** Where node keeps the dispatcher of its fetch, once that is loaded. No other runtime has it. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/**
 * Takes the limits off a fetch on node, which gives up on an answer that takes 300 seconds to begin or pauses as long: a model
 * may think longer. @google/genai does the same for its own fetch and leaves it out for one that is handed in.
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
