import { type BaseAgent, type Event, type InvocationContext, RunAbortedError } from '@eventloom/core';
import { type AbortGuard, type AgentPlace, reportUnlessStopped } from '@eventloom/core/internal';

/** Time that agents have to end after they were stopped. */
const GRACE_MS = 5000;

type Events = AsyncGenerator<Event, void, void>;

/** The next event of a lane; none at its end. */
interface Arrival {
  readonly lane: Events;
  readonly event: Event | undefined;
}

/** Several agents under way at the same time, whose events are taken one by one in the order in which they come. */
export class Lanes {
  readonly #context: InvocationContext;
  readonly #abort: AbortGuard;
  readonly #open = new Set<Events>();
  readonly #arrived: Arrival[] = [];
  #taken = 0;
  #failure: { readonly error: unknown } | undefined;
  #waiting: { resolve(arrival: Arrival): void; reject(error: unknown): void } | undefined;

  /** @param abort aborts these lanes and nothing else */
  constructor(context: InvocationContext, abort: AbortGuard) {
    this.#context = context;
    this.#abort = abort;
  }

  /** Lanes that are not at their end. */
  get size(): number {
    return this.#open.size;
  }

  /** Starts an agent. */
  open(agent: BaseAgent, place: AgentPlace): void {
    const lane = this.#context.runAgent(agent, place);
    this.#open.add(lane);
    this.goOn(lane);
  }

  /** Asks a lane for its next event: the one before is committed. */
  goOn(lane: Events): void {
    lane.next().then(
      (step) => {
        if (!this.#failure) this.#arrive({ lane, event: step.done ? undefined : step.value });
      },
      (error: unknown) => this.#fail(error),
    );
  }

  /** Forgets a lane that is at its end. */
  close(lane: Events): void {
    this.#open.delete(lane);
  }

  /** Returns the next arrival. @throws the error of the first branch that failed */
  next(): Promise<Arrival> {
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

  #arrive(arrival: Arrival): void {
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

  /** Aborts and closes the lanes that are not at their end; waits for them, a while. */
  async stop(): Promise<void> {
    if (this.#open.size === 0) return;
    const { platform } = this.#context;
    this.#failure ??= { error: undefined };
    this.#abort.abort(new RunAbortedError('the parallel agent was stopped'));
    const closing = Array.from(this.#open, (lane) =>
      lane.return().then(undefined, (error: unknown) => {
        // What stops says that it was stopped; anything else is news.
        reportUnlessStopped(platform, error);
      }),
    );
    await new Promise<void>((resolve) => {
      const callOff = platform.schedule(GRACE_MS, resolve);
      void Promise.all(closing).then(() => {
        callOff();
        resolve();
      });
    });
  }
}
