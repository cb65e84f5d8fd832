import { ConfigurationError, type Event, type InvocationContext, ObjectType, TRANSFER_TAG } from '@eventloom/core';

/**
 * The way of control through agents that hand over to each other: one agent after the other, none inside another. Whoever drives
 * agents reads `events` to their end and then asks for the hand-over, again and again, until there is none.
 *
 * A hand-over is data: the committed event of an execution says `transferToAgent`, and when that execution has ended, the named
 * agent of the invocation's tree goes on in its place and on its branch. Its parent in the call tree is who handed over.
 */
export class Route {
  #context: InvocationContext;
  #events: AsyncGenerator<Event, void, void> | undefined;

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
  get events(): AsyncGenerator<Event, void, void> {
    return (this.#events ??= this.#context.agent.runIn(this.#context));
  }

  /**
   * Gives control to whom the agent that ended handed over: `events` are the target's from now on. Returns the announcement, to
   * be yielded first; undefined when the agent kept control, which ends the route.
   * @throws ConfigurationError when the tree has no such agent @throws RunAbortedError
   */
  handOver(): Event | undefined {
    const from = this.#context;
    const name = this.#passOn();
    return name === undefined
      ? undefined
      : from.createEvent({
          content: { role: 'model', parts: [{ text: `Transferring control to agent: ${name}` }] },
          object: ObjectType.agentTransfer,
          tags: [TRANSFER_TAG],
        });
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
