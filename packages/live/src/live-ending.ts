import { LiveConnectionError, RunAbortedError } from '@eventloom/core';

/**
 * Why an agent speaks with a connection no longer: the client closed its queue, the agent handed over, a callback answered in the
 * model's place, another connection takes its place, the service's time for a session is over, the invocation is ended, another run takes the
 * session over, or nobody reads.
 */
export type Ending =
  | 'closed'
  | 'handedOver'
  | 'answered'
  | 'reconnecting'
  | 'timedOut'
  | 'ended'
  | 'takenOver'
  | 'stopped';

/** How an agent's part of a live run ends: the first reason counts, and a failure is one. */
export class LiveEnding {
  #reason: Ending | undefined;
  #failure: { readonly error: unknown } | undefined;
  readonly #onEnd: () => void;

  /** @param onEnd told when a reason comes up to leave the connection */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get reason(): Ending | undefined {
    return this.#reason;
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** True when no other connection is to be made. */
  get isOver(): boolean {
    return this.#failure !== undefined || (this.#reason !== undefined && this.#reason !== 'reconnecting');
  }

  /** True when the connection is to be left. */
  get isLeaving(): boolean {
    return this.#failure !== undefined || this.#reason !== undefined;
  }

  end(reason: Ending): void {
    if (this.isOver || (reason === 'reconnecting' && this.#reason)) return;
    this.#reason = reason;
    this.#onEnd();
  }

  fail(error: unknown): void {
    if (this.isOver) return;
    this.#failure = { error };
    this.#onEnd();
  }

  /** Fails, but for what a connection throws when it is lost: its reader gets that as well. */
  failUnlessLost(error: unknown): void {
    if (!LiveConnectionError.isInstance(error) && !RunAbortedError.isInstance(error)) this.fail(error);
  }

  /** Another connection is being made. */
  goOn(): void {
    if (this.#reason === 'reconnecting') this.#reason = undefined;
  }
}
