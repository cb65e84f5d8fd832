import type { MaybePromise } from '../session/maybe-promise.ts';
import { describeKind, isRecord } from '../content/json.ts';
import type { Content } from '../content/content.ts';
import { CallbackContext } from '../context/callback-context.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import { isEmptyActions } from '../event/event-actions.ts';
import type { BaseAgent } from './base-agent.ts';

/**
 * A function for `beforeAgentCallback` or `afterAgentCallback`. Returning undefined changes nothing. Returning a
 * content answers in place of the agent, which then does not run (before), or adds one more event to its reply (after).
 *
 * @example
 * const closedAtNight: SingleAgentCallback = (context) => {
 *   if (context.state.get('open', true)) return undefined;
 *   return { role: 'model', parts: [{ text: 'We are closed.' }] };
 * };
 */
export type SingleAgentCallback = (context: CallbackContext) => MaybePromise<Content | undefined | void>;
/** One or several callbacks that run before an agent. Content that one returns is the reply of the agent, and the agent does not run. */
export type BeforeAgentCallback = SingleAgentCallback | readonly SingleAgentCallback[];
/** One or several callbacks that run after an agent. Content that one returns is one more event of the agent. */
export type AfterAgentCallback = SingleAgentCallback | readonly SingleAgentCallback[];
/**
 * A function for `onAgentErrorCallback`, called after an agent threw `error`. Returning a content makes it the reply of
 * the agent, and the run continues. Returning undefined lets the run fail with the error.
 */
export type SingleAgentErrorCallback = (params: {
  readonly context: CallbackContext;
  readonly error: unknown;
}) => MaybePromise<Content | undefined | void>;
/** One or several callbacks for errors of an agent. Content that one returns is the reply of the agent, and the run continues. */
export type OnAgentErrorCallback = SingleAgentErrorCallback | readonly SingleAgentErrorCallback[];

/** Runs the agent's work with the callbacks around it. Does not start `work` if a callback answers for the agent. */
export async function* runWithCallbacks(
  agent: BaseAgent,
  context: InvocationContext,
  work: () => AsyncGenerator<Event, void, void>,
): AsyncGenerator<Event, void, void> {
  // The callbacks of a resumed agent ran when it started.
  if (!context.resumedFrom) {
    const before = new CallbackContext({ invocationContext: context });
    const instead = await firstReplacement(
      context.plugins.first('beforeAgentCallback', { agent, callbackContext: before }),
      agent.beforeAgentCallback,
      before,
    );
    if (instead) markEnd(before);
    yield* callbackEvent(before, instead, 'beforeAgentCallback');
    if (instead || context.endInvocation) return;
  }

  try {
    yield* work();
  } catch (error) {
    if (context.abortSignal.aborted) throw error;
    const failed = new CallbackContext({ invocationContext: context });
    const recovered = await firstReplacement(
      context.plugins.first('onAgentErrorCallback', { agent, callbackContext: failed, error }),
      agent.onAgentErrorCallback,
      { context: failed, error },
    );
    if (!recovered || context.abortSignal.aborted) throw error;
    markEnd(failed);
    yield* callbackEvent(failed, recovered, 'onAgentErrorCallback');
    return;
  }
  if (!context.endInvocation && !context.isPaused) yield* runAfterCallbacks(agent, context, true);
}

/**
 * Runs the callbacks after an agent, and yields their content and changes as an event.
 * @param isDone true to mark the agent as done; false after a failure, for which plugins have `onAgentErrorCallback`
 */
export async function* runAfterCallbacks(
  agent: BaseAgent,
  context: InvocationContext,
  isDone: boolean,
): AsyncGenerator<Event, void, void> {
  const after = new CallbackContext({ invocationContext: context });
  const added = await firstReplacement(
    isDone ? context.plugins.first('afterAgentCallback', { agent, callbackContext: after }) : undefined,
    agent.afterAgentCallback,
    after,
  );
  if (isDone) markEnd(after);
  yield* callbackEvent(after, added, 'afterAgentCallback');
}

/** Marks the agent as done in the event of its last callback. */
function markEnd({ actions, invocationContext }: CallbackContext): void {
  if (invocationContext.isResumable) actions.endOfAgent = true;
}

/**
 * Yields the content and changes of a callback as an event; nothing if there are none.
 * @throws ConfigurationError if the callback returned something other than a content
 */
function* callbackEvent(
  context: CallbackContext,
  content: Content | undefined,
  callback: string,
): Generator<Event, void, void> {
  if (!content && isEmptyActions(context.actions)) return;
  if (content && (!isRecord(content) || 'text' in content))
    throw new ConfigurationError(
      `agent "${context.agentName}": ${callback}: expected a content or nothing as the result, got ${describeKind(content)}; write return { role: 'model', parts: [{ text: 'hello' }] }`,
    );
  yield context.invocationContext.createEvent({
    ...(content ? { content: { role: 'model', ...content } } : {}),
    actions: context.actions,
  });
}

type Callback<P, R> = (params: P) => R | undefined | void | Promise<R | undefined | void>;

/**
 * Returns the replacement of the plugins, otherwise the first of the agent's own callbacks. False and other values
 * without content are no replacement.
 */
export async function firstReplacement<P, R extends object>(
  ofPlugins: Promise<R | undefined | void> | undefined,
  callbacks: readonly Callback<P, R>[],
  params: P,
): Promise<R | undefined> {
  let replacement = await ofPlugins;
  for (const callback of callbacks) {
    if (replacement) break;
    replacement = await callback(params);
  }
  return replacement || undefined;
}

/** Returns one value, a list or undefined as a new list, which cannot be changed. */
export function toList<T>(value: T | readonly T[] | undefined): readonly T[] {
  if (value === undefined) return EMPTY_LIST;
  return toFixedList(Array.isArray(value) ? [...(value as readonly T[])] : [value as T]);
}

function fixed(option: string): string {
  return `the lists of an agent cannot be changed after its construction; write all entries in its options, as in new LlmAgent({ …, ${option}: [first, second] })`;
}

function refuseChange(): never {
  throw new ConfigurationError(fixed('tools'));
}

/**
 * Returns the error for an agent with a list that its constructor did not make: the program assigned it, or declared it
 * as a class field.
 */
export function assignedListError({ name }: { readonly name: string }, option: string): ConfigurationError {
  return new ConfigurationError(`agent "${name}": ${option} was assigned; ${fixed(option)}`);
}

/**
 * Replaces the methods of arrays that change them, because their own error would only say that the object is not extensible. A prototype,
 * so that a list costs nothing more.
 */
const FIXED_LIST: object = /* @__PURE__ */ Object.create(
  Array.prototype,
  /* @__PURE__ */ Object.fromEntries(
    ['push', 'unshift', 'splice', 'pop', 'shift'].map((name) => [name, { value: refuseChange }]),
  ),
);

function toFixedList<T>(items: T[]): readonly T[] {
  Object.setPrototypeOf(items, FIXED_LIST);
  return Object.freeze(items);
}

/** The empty list that all agents share. */
export const EMPTY_LIST: readonly never[] = /* @__PURE__ */ toFixedList([]);

/**
 * Returns an option with one or several callbacks as a frozen list.
 * @param write code of a valid callback
 * @throws ConfigurationError for an item that is not a function, and for one that needs more than the one parameter that it gets
 */
export function toCallbacks<T>(
  agentName: string,
  option: string,
  value: T | readonly T[] | undefined,
  write: string,
): readonly T[] {
  if (value === undefined) return EMPTY_LIST;
  const callbacks = toList(value);
  for (const callback of callbacks) {
    if (typeof callback === 'function' && callback.length <= 1) continue;
    const got = typeof callback === 'function' ? `a function of ${callback.length}` : describeKind(callback);
    throw new ConfigurationError(
      `agent "${agentName}": ${option}: expected a function of one parameter, got ${got}; write ${option}: ${write} => { … }`,
    );
  }
  return callbacks;
}
