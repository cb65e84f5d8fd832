import {
  ConfigurationError,
  type Event,
  type InvocationContext,
  ObjectType,
  RUN_CONFIG_DEFAULTS,
  TRANSFER_TAG,
} from '@eventloom/core';

type Events = AsyncGenerator<Event, void, void>;

/**
 * The way of control through agents that hand over to each other: one agent after the other, none inside another. Whoever drives
 * agents goes through the route (`for (const part of route) yield* part`), or takes step after step of `events` and asks
 * `eventOf` what each means.
 *
 * A hand-over is data: the committed event of an execution says `transferToAgent`, and when that execution has ended, the named
 * agent of the invocation's tree goes on in its place and on its branch. Its parent in the call tree is who handed over.
 *
 * Agents that are started again and again, and wait for nothing meanwhile, leave the event loop a turn now and then: so a run that
 * has no end of its own can be aborted, and the process serves others.
 */
export class Route {
  #context: InvocationContext;
  #events: Events | undefined;
  /** Hand-overs since a model was asked. */
  #handOvers = 0;
  #llmCalls = 0;

  /**
   * @param context the context of the agent to begin with; it is started when its first event is asked for
   * @throws as `handOver`, in a run that is resumed
   */
  constructor(context: InvocationContext) {
    this.#context = context;
    // In a run that is resumed agents may be done, and control be with whom they handed over to.
    while (this.#context.past?.isOver && this.#passOn());
  }

  /** The context of the agent that has control. */
  get context(): InvocationContext {
    return this.#context;
  }

  /** The events of the agent that has control. */
  get events(): Events {
    return (this.#events ??= eventsOf(this.#context));
  }

  /** All that is to be yielded: the events of one agent, the announcement that it hands over, the events of the next. */
  *[Symbol.iterator](): Generator<Events | readonly Event[], void, void> {
    for (;;) {
      yield this.events;
      const announcement = this.handOver();
      if (!announcement) return;
      yield [announcement];
    }
  }

  /**
   * What a step of `events` comes to: its event, or at their end the announcement of a hand-over; undefined at the end of the route.
   * @throws as `handOver`
   */
  eventOf({ done, value }: IteratorResult<Event, void>): Event | undefined {
    return done === true ? this.handOver() : value;
  }

  /**
   * Gives control to whom the agent that ended handed over: `events` are the target's from now on. Returns the announcement, to
   * be yielded first; undefined when the agent kept control, which ends the route.
   * @throws ConfigurationError when the tree has no such agent @throws RunAbortedError
   * @throws HandOverLimitError when agents handed over more than `runConfig.maxLlmCalls` times without a model call
   */
  handOver(): Event | undefined {
    const from = this.#context;
    const name = this.#passOn();
    if (name === undefined) return undefined;
    this.#count(from);
    return from.createEvent({
      content: { role: 'model', parts: [{ text: `Transferring control to agent: ${name}` }] },
      object: ObjectType.agentTransfer,
      tags: [TRANSFER_TAG],
    });
  }

  /** Notes that the agent in control failed with this error: when the run fails with it, its error event is that agent's. */
  noteFailure(error: unknown): void {
    this.#context.progress.noteFailure(error, this.#context);
  }

  #count({ progress, runConfig }: InvocationContext): void {
    if (progress.llmCalls !== this.#llmCalls) this.#handOvers = 0;
    this.#llmCalls = progress.llmCalls;
    progress.checkHandOvers(++this.#handOvers, runConfig.maxLlmCalls ?? RUN_CONFIG_DEFAULTS.maxLlmCalls);
  }

  /** Gives control to whom the agent that ended handed over; the name of that one. */
  #passOn(): string | undefined {
    const from = this.#context;
    const name = from.progress.takeTransfer(from.executionId);
    if (name === undefined || from.isEnded) return undefined;
    from.throwIfAborted();
    const target = from.invocation.rootAgent.findAgent(name);
    if (!target) {
      throw new ConfigurationError(
        `agent "${from.agent.name}": asked to hand over to "${name}", and there is no agent of that name in its tree`,
      );
    }
    this.#context = from.forAgent(target);
    this.#events = undefined;
    return name;
  }
}

function eventsOf(context: InvocationContext): Events {
  return context.progress.isTurnDue() ? afterTurn(context) : context.agent.runIn(context);
}

/** The events of an agent that begins when the event loop had its turn. */
async function* afterTurn(context: InvocationContext): Events {
  await context.untilAborted(new Promise<void>((resolve) => void context.platform.schedule(0, resolve)));
  yield* context.agent.runIn(context);
}
