import type { Event, EventloomError, MaybePromise } from '@eventloom/core';
import type { AgentDriver, EventResult } from './agent-driver.ts';
import type { EventCommitter } from './event-committer.ts';

declare const counted: unique symbol;

/**
 * An event that `run` may yield: `RunControl` has subtracted it from `ChunkShortcut.requestsToRun`. The compiler refuses
 * a yield of another event, after which its reader would count as one that still waits.
 */
export type CountedEvent = Event & { readonly [counted]: true };

/** The agent that `run` asks, and the committer that completes its chunks. */
interface ChunkSource {
  readonly driver: AgentDriver;
  readonly committer: EventCommitter;
}

/** The run whose events a `ChunkShortcut` gives to the reader. */
export interface SteppedRun {
  /** The abort of the run. Once it has a reason, `run` continues in any case, and throws it. */
  readonly abort: { readonly reason: EventloomError | undefined };
  /** Asks the agent for its next event. Throws, or rejects, when the run is aborted. */
  nextStep(driver: AgentDriver): MaybePromise<EventResult>;
}

/**
 * The events of a run, as its reader gets them. They are those of the generator `run`, which drives the agent, with one
 * exception: **the chunks after the first one go from the agent to the reader without it**. A chunk that is only
 * streamed needs nothing of what `run` does, and saves 27 to 32 % of its time. The states:
 *
 * | the agent has made | `run` waits | the reader's request goes to |
 * |---|---|---|
 * | no chunk yet, or an event that is stored | for the agent, or at the yield of the event | `run` |
 * | a chunk that `run` has yielded | at the yield of that chunk: see `passChunks` | the agent |
 * | a further chunk | at the same yield | the agent, again |
 * | another step, its end or an error | continues, and gets that as its next step: `stepAfterChunks` | `run` |
 *
 * Requests that are made before the last one is done wait for it, as those of a generator do.
 */
export class ChunkShortcut {
  readonly #run: SteppedRun;
  readonly #generator: AsyncGenerator<Event, void, undefined>;
  /** Set while `run` waits at the yield of a chunk. */
  #chunks: ChunkSource | undefined;
  /** The pending request to the agent. */
  #pending: Promise<EventResult> | undefined;
  /** The last of the requests that wait for that one. */
  #lastQueued: Promise<EventResult> | undefined;
  /** Number of requests to `run` that have no result yet. It subtracts one before each yield. */
  requestsToRun = 0;
  /** The step after the last chunk. `run` takes it as the agent's next one, and sets this to undefined. */
  stepAfterChunks: MaybePromise<EventResult> | undefined;

  /** True while the reader waits for an event. */
  get isAwaited(): boolean {
    return this.requestsToRun > 0 || this.#pending !== undefined;
  }

  constructor(run: SteppedRun, generator: AsyncGenerator<Event, void, undefined>) {
    this.#run = run;
    this.#generator = generator;
  }

  /** Sends the chunks after this one to the reader directly. Does nothing if the reader has requested another event already. */
  passChunks(driver: AgentDriver, committer: EventCommitter): void {
    if (this.requestsToRun === 0) this.#chunks = { driver, committer };
  }

  next(): Promise<EventResult> {
    const pending = this.#lastQueued ?? this.#pending;
    return pending ? this.#queue(pending, () => this.#ask()) : this.#ask();
  }

  return(): Promise<EventResult> {
    const pending = this.#lastQueued ?? this.#pending;
    const end = (): Promise<EventResult> => this.#generator.return(undefined);
    return pending ? this.#queue(pending, end) : end();
  }

  throw(error: unknown): Promise<EventResult> {
    const pending = this.#lastQueued ?? this.#pending;
    const fail = (): Promise<EventResult> => this.#generator.throw(error);
    return pending ? this.#queue(pending, fail) : fail();
  }

  #queue(pending: Promise<EventResult>, request: () => Promise<EventResult>): Promise<EventResult> {
    const result = pending.then(request, request);
    this.#lastQueued = result;
    const leave = (): void => {
      if (this.#lastQueued === result) this.#lastQueued = undefined;
    };
    result.then(leave, leave);
    return result;
  }

  #ask(): Promise<EventResult> {
    const chunks = this.#chunks;
    if (chunks && !this.#run.abort.reason) {
      this.#pending = Promise.resolve(this.#run.nextStep(chunks.driver)).then(this.#onStep, this.#onFailure);
      return this.#pending;
    }
    this.#chunks = undefined;
    this.requestsToRun++;
    return this.#generator.next();
  }

  /** Hands a chunk to the reader, and any other step to `run`. */
  readonly #onStep = (step: EventResult): MaybePromise<EventResult> => {
    if (step.done === true || step.value.partial !== true || !this.#chunks) return this.#continueWith(step);
    try {
      const value = this.#chunks.committer.commitChunk(step.value);
      this.#pending = undefined;
      return value === step.value ? step : { done: false, value };
    } catch (error) {
      return this.#onFailure(error);
    }
  };

  readonly #onFailure = (error: unknown): Promise<EventResult> => this.#continueWith(Promise.reject(error as Error));

  #continueWith(step: MaybePromise<EventResult>): Promise<EventResult> {
    this.#pending = undefined;
    this.#chunks = undefined;
    this.stepAfterChunks = step;
    this.requestsToRun++;
    return this.#generator.next();
  }
}
