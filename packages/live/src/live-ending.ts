import { LiveConnectionError, RunAbortedError } from '@eventloom/core';

/**
 * The reasons for leaving a connection: the client closed its queue, control moved to another agent, a callback
 * replaced the connection, another connection replaces it, the service's time limit for a session was reached, the
 * invocation or the conversation was ended, another run takes the session, or the run has no reader.
 */
export type Ending =
  | 'closed'
  | 'handedOver'
  | 'replaced'
  | 'reconnecting'
  | 'timedOut'
  | 'ended'
  | 'takenOver'
  | 'stopped';

/** Records why an agent's part of a live run ends. The first reason or failure counts. */
export class LiveEnding {
  #reason: Ending | undefined;
  #failure: { readonly error: unknown } | undefined;
  readonly #onEnd: () => void;

  /** @param onEnd called when there is a reason to leave the connection */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  get reason(): Ending | undefined {
    return this.#reason;
  }

  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** True if no other connection will be opened. */
  get isEnded(): boolean {
    return this.#failure !== undefined || (this.#reason !== undefined && this.#reason !== 'reconnecting');
  }

  /** True if the current connection is being left. */
  get isLeaving(): boolean {
    return this.#failure !== undefined || this.#reason !== undefined;
  }

  end(reason: Ending): void {
    if (this.isEnded || (reason === 'reconnecting' && this.#reason)) return;
    this.#reason = reason;
    this.#onEnd();
  }

  fail(error: unknown): void {
    if (this.isEnded) return;
    this.#failure = { error };
    this.#onEnd();
  }

  /** Records a failure, unless it is a lost connection or an aborted run, which the reader of the connection reports. */
  failUnlessLost(error: unknown): void {
    if (!LiveConnectionError.isInstance(error) && !RunAbortedError.isInstance(error)) this.fail(error);
  }

  /** Withdraws the reason `reconnecting`: another connection is being opened. */
  reconnect(): void {
    if (this.#reason === 'reconnecting') this.#reason = undefined;
  }
}
