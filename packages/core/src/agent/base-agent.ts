import type { Content } from '../content/content.ts';
import { CallbackContext } from '../context/callback-context.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors/configuration-error.ts';
import type { Event } from '../event/event.ts';
import { isEmptyActions } from '../event/event-actions.ts';
import { toList } from './to-list.ts';

type MaybePromise<T> = T | Promise<T>;

/** Runs before or after an agent. A content it returns becomes the agent's answer. */
export type SingleAgentCallback = (context: CallbackContext) => MaybePromise<Content | undefined | void>;
/** Instead of the agent, when one returns content. */
export type BeforeAgentCallback = SingleAgentCallback | readonly SingleAgentCallback[];
/** In addition to what the agent said, when one returns content. */
export type AfterAgentCallback = SingleAgentCallback | readonly SingleAgentCallback[];
/** Told of an agent that threw. A content it returns is the agent's answer, and the run goes on. */
export type SingleAgentErrorCallback = (params: {
  readonly context: CallbackContext;
  readonly error: unknown;
}) => MaybePromise<Content | undefined | void>;
export type OnAgentErrorCallback = SingleAgentErrorCallback | readonly SingleAgentErrorCallback[];

/** What every agent is made of. */
export interface BaseAgentConfig {
  /** An identifier, unique in its tree, not `user`. */
  readonly name: string;
  /** What the agent is for, in a line or two; other agents' models read it. */
  readonly description?: string;
  readonly beforeAgentCallback?: BeforeAgentCallback;
  readonly afterAgentCallback?: AfterAgentCallback;
  readonly onAgentErrorCallback?: OnAgentErrorCallback;
}

const BRAND = Symbol.for('eventloom.agent');
const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;

/**
 * An agent: given an invocation, it yields events. The runner commits each one before it asks for the next, so what follows a
 * `yield` sees the committed state. An agent object is never changed by a run; one serves any number of them at once.
 */
export abstract class BaseAgent {
  readonly name: string;
  readonly description: string;
  readonly beforeAgentCallback: readonly SingleAgentCallback[];
  readonly afterAgentCallback: readonly SingleAgentCallback[];
  readonly onAgentErrorCallback: readonly SingleAgentErrorCallback[];

  /** @throws ConfigurationError for a name that is no identifier or is `user`, and for options this version does not have */
  constructor(config: BaseAgentConfig) {
    if (typeof config.name !== 'string' || !IDENTIFIER.test(config.name)) {
      throw new ConfigurationError(
        `agent name ${JSON.stringify(config.name)}: must be an identifier (letters, digits, _ and $, not starting with a digit)`,
      );
    }
    if (config.name === 'user') throw new ConfigurationError('agent name "user": is reserved for what the user says');
    if ('subAgents' in config && config.subAgents !== undefined) {
      throw new ConfigurationError(`agent "${config.name}": subAgents are not supported by this version yet`);
    }
    this.name = config.name;
    this.description = config.description ?? '';
    this.beforeAgentCallback = toList(config.beforeAgentCallback);
    this.afterAgentCallback = toList(config.afterAgentCallback);
    this.onAgentErrorCallback = toList(config.onAgentErrorCallback);
  }

  get [BRAND](): true {
    return true;
  }

  /** The agent's work: yields events until it is done. */
  protected abstract runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, void>;

  /** Releases what the agent holds open. Nothing runs it any more afterwards. */
  close(): Promise<void> | void {
    return undefined;
  }

  /** Runs the agent in an invocation: callbacks before, its work, callbacks after. */
  runAsync(parentContext: InvocationContext): AsyncGenerator<Event, void, void> {
    const context = parentContext.forAgent(this);
    // Every generator between the model and the caller costs each chunk about 100 ns, so there is none without a reason.
    return this.#hasCallbacks(context) ? this.#runWithCallbacks(context) : this.runAsyncImpl(context);
  }

  #hasCallbacks({ plugins }: InvocationContext): boolean {
    return (
      this.beforeAgentCallback.length + this.afterAgentCallback.length + this.onAgentErrorCallback.length > 0 ||
      plugins.has('beforeAgentCallback') ||
      plugins.has('afterAgentCallback') ||
      plugins.has('onAgentErrorCallback')
    );
  }

  async *#runWithCallbacks(context: InvocationContext): AsyncGenerator<Event, void, void> {
    const before = new CallbackContext({ invocationContext: context });
    const instead =
      (await context.plugins.first('beforeAgentCallback', { agent: this, callbackContext: before })) ??
      (await firstContent(this.beforeAgentCallback, before));
    yield* callbackEvent(before, instead);
    if (instead || context.isEnded) return;

    try {
      yield* this.runAsyncImpl(context);
    } catch (error) {
      if (context.abortSignal.aborted) throw error;
      const failed = new CallbackContext({ invocationContext: context });
      const recovered =
        (await context.plugins.first('onAgentErrorCallback', { agent: this, callbackContext: failed, error })) ??
        (await firstContent(this.onAgentErrorCallback, { context: failed, error }));
      if (!recovered || context.abortSignal.aborted) throw error;
      yield* callbackEvent(failed, recovered);
      return;
    }
    if (context.isEnded) return;

    const after = new CallbackContext({ invocationContext: context });
    const added =
      (await context.plugins.first('afterAgentCallback', { agent: this, callbackContext: after })) ??
      (await firstContent(this.afterAgentCallback, after));
    yield* callbackEvent(after, added);
  }
}

/** True for agents, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseAgent(value: unknown): value is BaseAgent {
  return typeof value === 'object' && value !== null && BRAND in value;
}

async function firstContent<P>(
  callbacks: readonly ((params: P) => MaybePromise<Content | undefined | void>)[],
  params: P,
): Promise<Content | undefined> {
  for (const callback of callbacks) {
    const content = await callback(params);
    if (content) return content;
  }
  return undefined;
}

/** What a callback said or changed, as an event; none when it did neither. */
function* callbackEvent(context: CallbackContext, content: Content | undefined): Generator<Event> {
  if (!content && isEmptyActions(context.actions)) return;
  yield context.invocationContext.createEvent({
    ...(content ? { content: { role: 'model', ...content } } : {}),
    actions: context.actions,
  });
}
