import {
  ConfigurationError,
  type Event,
  type InvocationContext,
  type MaybePromise,
  nearestNames,
  ObjectType,
} from '@eventloom/core';
import {
  AGENT_CLOSE_MS,
  type Execution,
  isBaseAgent,
  type ObservedOperation,
  openInside,
  otherWork,
  reportUnlessStopped,
  TRANSFER_TAG,
} from '@eventloom/core/internal';
import { agentsAndTools } from './open-toolsets.ts';

type AgentEvents = AsyncGenerator<Event, void, void>;
/** A step of an agent or of a run. */
export type EventResult = IteratorResult<Event, void>;

export const DONE: EventResult = { done: true, value: undefined };

/**
 * Drives an agent, and then each agent that control is transferred to, one after the other and not nested. It generates their events, and
 * with `runConfig.announceTransfers` an announcement for every transfer.
 *
 * A transfer is data: a committed event of an agent's execution has `transferToAgent`, and when that execution has ended, the agent of that
 * name continues in its place and on its branch. In the call tree, the transferring agent is its parent.
 *
 * Ends early when the invocation is ended. Throws the errors of agents, ConfigurationError for a transfer to an agent that the tree does
 * not have, HandOverLimitError for more than `runConfig.maxLlmCalls` transfers without a model call, and RunAbortedError.
 *
 * It is not a generator function, because every generator between a model and the reader costs each chunk a few promises.
 */
export class AgentDriver implements AgentEvents {
  /** The context of the agent that has control. Read-only for others. */
  context: InvocationContext;
  #events: AgentEvents | undefined;
  /** Observes the agent that has control. */
  #operation: ObservedOperation | undefined;
  /** True while an agent works on its next event, false while its generator waits at a yield. */
  #isWorking = false;
  /** `running` from the first `next` on, `done` once the last agent has ended. Read-only for others. */
  state: 'new' | 'running' | 'done' = 'new';
  #transfersSinceModelCall = 0;
  #llmCalls = 0;

  /** @param context the context of the agent to start with. If that one has ended in a resumed run, see `#skipEnded`. */
  constructor(context: InvocationContext) {
    this.context = context;
    if (context.resumedFrom) this.#skipEnded(context.resumedFrom);
  }

  /** Gives control to the agent that had it when the run was interrupted: the last in the stored transfers from this one. */
  #skipEnded(first: Execution): void {
    this.#noteStoredTransfer(first);
    let at: Execution | undefined = first;
    while (at?.isCompleted) {
      if (this.#takeTransfer() === undefined) return;
      at = this.context.resumedFrom;
    }
  }

  /** Notes the transfer that the agent with this execution requested before the run was interrupted, as if it were committed now. */
  #noteStoredTransfer({ events }: Execution): void {
    for (const event of events) this.context.progress.noteTransfer(event);
  }

  next(): Promise<EventResult> {
    if (this.state === 'done') return Promise.resolve(DONE);
    const { progress } = this.context;
    if (progress.ended && !progress.endsItself) return this.return();
    const events = (this.#events ??= this.#startAgent());
    this.#isWorking = true;
    this.state = 'running';
    return events.next().then(this.#onStep, this.#onFailure);
  }

  /**
   * Ends the driver, and the agent's operation, after an event that the agent announced as its last: no code follows it,
   * so the agent is not asked again.
   */
  endAfterLastEvent(): void {
    this.#operation?.succeed();
    this.state = 'done';
  }

  async return(): Promise<EventResult> {
    this.state = 'done';
    // The generator returns when its current step is done, which may be never.
    if (this.#isWorking) this.#operation?.leave();
    try {
      await this.#events?.return();
    } finally {
      this.#operation?.leave();
    }
    return DONE;
  }

  async throw(error: unknown): Promise<EventResult> {
    await this.return();
    throw error;
  }

  /**
   * Closes the agent that has control. An error while it closes is reported to the platform, so that it does not
   * replace the reason why the run ended. The method does not wait for an agent that still works on its next event, and
   * at most five seconds for any other.
   */
  async close(): Promise<void> {
    const { platform } = this.context.invocation;
    const closing = this.return().then(
      () => undefined,
      (error: unknown) => reportUnlessStopped(platform, error),
    );
    if (this.#isWorking) return;
    await new Promise<void>((resolve) => {
      // After that, the session is released although the agent works on.
      const cancel = platform.schedule(AGENT_CLOSE_MS, resolve);
      void closing.then(() => {
        cancel();
        resolve();
      });
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  readonly #onStep = (step: EventResult): MaybePromise<EventResult> => {
    this.#isWorking = false;
    if (step.done !== true) return step;
    this.#operation?.succeed();
    return this.#transfer();
  };

  readonly #onFailure = (error: unknown): never => {
    this.#isWorking = false;
    this.state = 'done';
    this.#operation?.fail(error);
    const context = this.context;
    // After an abort, agents fail because of it: none of them is the one that failed.
    if (!context.abortSignal.aborted) context.progress.noteFailure(error, context);
    throw error;
  };

  #startAgent(): AgentEvents {
    const { context } = this;
    const { agent, progress, abortGuard, invocation } = context;
    const run = progress.shouldYieldToEventLoop() ? runAfterYielding : undefined;
    const { operations } = invocation;
    this.#operation = operations && agent.isObserved ? operations.start({ kind: 'agent', context }) : undefined;
    if (!this.#operation) return run ? run(context) : agent.runIn(context);
    return openInside(this.#operation, abortGuard, () => (run ? run(context) : agent.runIn(context)));
  }

  /** Starts the agent that the ended agent transferred to. Ends the driver if there is no transfer. */
  #transfer(): MaybePromise<EventResult> {
    const from = this.context;
    try {
      const name = this.#takeTransfer();
      if (name !== undefined) {
        this.#countTransfer(from);
        if (from.runConfig.announceTransfers !== true) return this.next();
        const content = { role: 'model', parts: [{ text: `Transferring control to agent: ${name}` }] };
        const value = from.createEvent({ content, object: ObjectType.agentTransfer, tags: [TRANSFER_TAG] });
        return { done: false, value };
      }
    } catch (error) {
      return this.#onFailure(error);
    }
    this.state = 'done';
    return DONE;
  }

  /** Moves control to the target of the transfer, if the ended agent requested one, and returns the target's name. */
  #takeTransfer(): string | undefined {
    const from = this.context;
    const name = from.progress.takeTransfer(from.executionId);
    if (name === undefined || from.endInvocation) return undefined;
    from.throwIfAborted();
    const target = from.invocation.rootAgent.findAgent(name);
    if (!target) throw unknownTarget(from, name);
    this.context = from.forAgent(target);
    if (this.context.resumedFrom) this.#noteStoredTransfer(this.context.resumedFrom);
    this.#events = undefined;
    return name;
  }

  #countTransfer({ progress }: InvocationContext): void {
    if (progress.llmCalls !== this.#llmCalls) this.#transfersSinceModelCall = 0;
    this.#llmCalls = progress.llmCalls;
    progress.checkHandOvers(++this.#transfersSinceModelCall);
  }
}

function unknownTarget({ agent, invocation }: InvocationContext, name: string): ConfigurationError {
  const agents = Array.from(agentsAndTools(invocation.rootAgent)).filter(isBaseAgent);
  const [nearest] = nearestNames(
    name,
    agents.map((other) => other.name),
  );
  const advice = nearest === undefined ? '' : `; did you mean "${nearest}"?`;
  return new ConfigurationError(
    `agent "${agent.name}": requested a transfer to "${name}", but no agent of the tree has that name${advice}`,
  );
}

/**
 * Runs the agent after a yield to the event loop. Agents that are started repeatedly and wait for nothing would
 * otherwise block the process, and could not be aborted.
 */
async function* runAfterYielding(context: InvocationContext): AgentEvents {
  await context.untilAborted(otherWork(context.platform));
  yield* context.agent.runIn(context);
}
