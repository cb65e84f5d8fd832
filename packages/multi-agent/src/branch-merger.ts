import { type BaseAgent, type Event, type InvocationContext, RunAbortedError } from '@eventloom/core';
import { type AbortGuard, AGENT_CLOSE_MS, type AgentPlace, reportUnlessStopped } from '@eventloom/core/internal';

type BranchEvents = AsyncGenerator<Event, void, void>;

/** The next event of an agent; `event` is undefined at the end of its stream. */
interface BranchEvent {
  readonly source: BranchEvents;
  readonly event: Event | undefined;
}

/** Runs several agents at the same time and merges their events into one stream, in the order in which they come. */
export class BranchMerger {
  readonly #context: InvocationContext;
  readonly #abort: AbortGuard;
  readonly #open = new Set<BranchEvents>();
  readonly #arrived: BranchEvent[] = [];
  #taken = 0;
  #failure: { readonly error: unknown } | undefined;
  #waiting: { resolve(arrival: BranchEvent): void; reject(error: unknown): void } | undefined;

  /** @param abort aborts only these agents */
  constructor(context: InvocationContext, abort: AbortGuard) {
    this.#context = context;
    this.#abort = abort;
  }

  /** The number of agents that have not ended. */
  get size(): number {
    return this.#open.size;
  }

  /** Starts an agent. */
  open(agent: BaseAgent, place: AgentPlace): void {
    const source = this.#context.runAgent(agent, place);
    this.#open.add(source);
    this.resume(source);
  }

  /** Requests the next event of an agent. Call it after the agent's previous event is committed. */
  resume(source: BranchEvents): void {
    source.next().then(
      (step) => {
        if (!this.#failure) this.#arrive({ source, event: step.done ? undefined : step.value });
      },
      (error: unknown) => this.#fail(error),
    );
  }

  /** Removes an agent that has ended. */
  close(source: BranchEvents): void {
    this.#open.delete(source);
  }

  /** Returns the next event of any agent. @throws the error of the first agent that failed */
  next(): Promise<BranchEvent> {
    return new Promise((resolve, reject) => {
      const arrival = this.#arrived[this.#taken];
      if (arrival) {
        this.#taken++;
        resolve(arrival);
        return;
      }
      this.#arrived.length = 0;
      this.#taken = 0;
      if (this.#failure) reject(this.#failure.error);
      else this.#waiting = { resolve, reject };
    });
  }

  #arrive(arrival: BranchEvent): void {
    if (!this.#waiting) {
      this.#arrived.push(arrival);
      return;
    }
    this.#waiting.resolve(arrival);
    this.#waiting = undefined;
  }

  #fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.#abort.abort(new RunAbortedError('another agent of the same parallel agent failed', { cause: error }));
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }

  /** Aborts and closes the agents that have not ended, and waits at most `AGENT_CLOSE_MS` for them. */
  async stop(): Promise<void> {
    if (this.#open.size === 0) return;
    const { platform } = this.#context;
    this.#failure ??= { error: undefined };
    this.#abort.abort(new RunAbortedError('the parallel agent was stopped'));
    const closing = Array.from(this.#open, (source) =>
      source.return().then(undefined, (error: unknown) => {
        // Errors that only report the abort are expected; all others are reported.
        reportUnlessStopped(platform, error);
      }),
    );
    await new Promise<void>((resolve) => {
      const callOff = platform.schedule(AGENT_CLOSE_MS, resolve);
      void Promise.all(closing).then(() => {
        callOff();
        resolve();
      });
    });
  }
}
