import {
  type BaseSessionService,
  createEventActions,
  type Event,
  type InvocationContext,
  InvalidEventError,
  ObjectType,
  type Platform,
  type RunConfig,
} from '@eventloom/core';
import type { HeldLease } from './lease-keeper.ts';

/** What a run's events are committed with. */
export interface EventCommitterParams {
  readonly context: InvocationContext;
  readonly held: HeldLease;
  readonly sessionService: BaseSessionService;
  /** Author of events that name none. */
  readonly agentName: string;
}

/** Kinds that are streamed and never stored. */
const NEVER_STORED: ReadonlySet<string | undefined> = new Set([ObjectType.agentTransfer, ObjectType.runnerCompletion]);

/** Completes the events of one run and stores them under its lease. */
export class EventCommitter {
  readonly #context: InvocationContext;
  readonly #held: HeldLease;
  readonly #service: BaseSessionService;
  readonly #agentName: string;
  readonly #config: RunConfig;
  readonly #platform: Platform;
  readonly #invocationId: string;
  readonly #asksPlugins: boolean;
  readonly #isStamped: boolean;

  constructor({ context, held, sessionService, agentName }: EventCommitterParams) {
    this.#context = context;
    this.#held = held;
    this.#service = sessionService;
    this.#agentName = agentName;
    this.#config = context.runConfig;
    this.#platform = context.platform;
    this.#invocationId = context.invocationId;
    this.#asksPlugins = context.plugins.has('onEventCallback');
    this.#isStamped = this.#config.requestId !== undefined || this.#config.customMetadata !== undefined;
  }

  /** True for an event that is passed on as it is, once complete: nothing has to be waited for. */
  isForwarded(event: Event): boolean {
    return event.partial === true && !this.#asksPlugins;
  }

  /** The event as it goes on: complete, as the plugins want it, and stored unless it is one that is only streamed. */
  commit(event: Event): Promise<Event> {
    const complete = this.complete(event);
    return this.#asksPlugins ? this.#commitAsAsked(complete) : this.#store(complete);
  }

  async #commitAsAsked(event: Event): Promise<Event> {
    const changed = await this.#context.plugins.first('onEventCallback', { invocationContext: this.#context, event });
    return this.#store(changed ? this.complete(withIdentityOf(event, changed)) : event);
  }

  #store(event: Event): Promise<Event> {
    if (event.partial === true || NEVER_STORED.has(event.object) || event.nodeEvent) return Promise.resolve(event);
    return this.append(event);
  }

  /** Stores a complete event. */
  append(event: Event): Promise<Event> {
    // The append renews the lease; that it may be a little later than the event was made does no harm.
    this.#held.renewedMs = event.timestamp * 1000;
    return this.#service.appendEvent({ session: this.#context.session, event, lease: this.#held.lease });
  }

  /** The event with what is missing filled in, and with what the run puts on every event. */
  complete(event: Event): Event {
    if (typeof event !== 'object' || event === null) {
      throw new InvalidEventError(
        `agent "${this.#agentName}" yielded ${event === null ? 'null' : typeof event}, not an event`,
      );
    }
    const isComplete =
      Boolean(event.id) &&
      Boolean(event.timestamp) &&
      Boolean(event.author) &&
      event.executionId !== undefined &&
      event.actions !== undefined;
    if (isComplete && !this.#isStamped && event.invocationId === this.#invocationId) return event;
    return this.stamp({
      ...event,
      id: event.id || this.#platform.newEventId(),
      invocationId: this.#invocationId,
      author: event.author || this.#agentName,
      timestamp: event.timestamp || this.#platform.now() / 1000,
      executionId: event.executionId ?? this.#invocationId,
      actions: createEventActions(event.actions),
    });
  }

  /** The event with the run's request id and metadata; its own metadata wins. */
  stamp(event: Event): Event {
    if (!this.#isStamped) return event;
    const { requestId, customMetadata } = this.#config;
    return {
      ...event,
      ...(requestId === undefined ? {} : { requestId }),
      ...(customMetadata === undefined ? {} : { customMetadata: { ...customMetadata, ...event.customMetadata } }),
    };
  }
}

/** A plugin's event in the place of another: which event it is, when it was, and whether it is a chunk is not the plugin's to say. */
function withIdentityOf(event: Event, replacement: Event): Event {
  const { id, invocationId, timestamp, partial } = event;
  const { partial: _, ...changed } = replacement;
  return { ...changed, id, invocationId, timestamp, ...(partial === undefined ? {} : { partial }) };
}
