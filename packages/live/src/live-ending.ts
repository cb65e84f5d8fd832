import { LiveConnectionError, RunAbortedError } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';

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

/** A session of the model service. */
interface ClosableSession {
  /** Closes the connection. */
  close(): Promise<void>;
}

/** Records why an agent's part of a live run ends, and leaves the connection then. The first reason or failure counts. */
export class LiveEnding {
  #reason: Ending | undefined;
  #failure: { readonly error: unknown } | undefined;
  readonly #serviceSession: ClosableSession;
  readonly #connecting: AbortGuard;

  /**
   * @param serviceSession closed when there is a reason to leave its connection
   * @param connecting aborted when the flow ends: no further connection is opened
   */
  constructor(serviceSession: ClosableSession, connecting: AbortGuard) {
    this.#serviceSession = serviceSession;
    this.#connecting = connecting;
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
    this.#leave();
  }

  fail(error: unknown): void {
    if (this.isEnded) return;
    this.#failure = { error };
    this.#leave();
  }

  /** Records a failure, unless it is a lost connection or an aborted run, which the reader of the connection reports. */
  failUnlessLost(error: unknown): void {
    if (!LiveConnectionError.isInstance(error) && !RunAbortedError.isInstance(error)) this.fail(error);
  }

  #leave(): void {
    void this.#serviceSession.close();
    if (this.isEnded) this.#connecting.abort(new RunAbortedError('the live run has ended'));
  }

  /** Withdraws the reason `reconnecting`: another connection is being opened. */
  reconnect(): void {
    if (this.#reason === 'reconnecting') this.#reason = undefined;
  }
}
