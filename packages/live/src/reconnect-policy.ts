import { type AbortGuard, type InvocationContext, LiveConnectionError, type LiveLlmResponse } from '@eventloom/core';
import type { LiveEnding } from './live-ending.ts';
import type { ServiceSession } from './service-session.ts';

/** Connections in a row that may fail. */
const MAX_ATTEMPTS = 5;
/** As many when the client hung up: what it wrote is worth another one. */
const MAX_ATTEMPTS_WHEN_CLOSED = 1;
const FIRST_DELAY_MS = 250;
/** A connection that lasted so long was good, also when nobody had anything to say. */
const GOOD_MS = 10_000;

/** What decides about connections. */
export interface ReconnectPolicyParams {
  readonly context: InvocationContext;
  readonly session: ServiceSession;
  readonly ending: LiveEnding;
  /** Ends waits. */
  readonly waiting: AbortGuard;
  /** True when the model is told nothing more, and only calls are waited for. */
  readonly isDone: () => boolean;
}

/**
 * Says whether a connection is made anew, and when: at once after one that lasted, then later and later. A connection on which the model said
 * something was good, so the count begins anew; but when it did not last, the next one waits, or a service that says a word and closes would be
 * connected to without end.
 */
export class ReconnectPolicy {
  readonly #params: ReconnectPolicyParams;
  readonly #canReconnect: boolean;
  #failures = 0;
  #connectedAtMs: number | undefined;
  /** True while another connection was not yet made at once. */
  #isAtOnce = true;
  #isTimeShort = false;

  constructor(params: ReconnectPolicyParams) {
    this.#params = params;
    this.#canReconnect = params.context.runConfig.liveReconnect !== false;
  }

  /** True when the connection is to be left as soon as nobody is interrupted by that. */
  get isLeaveDue(): boolean {
    return this.#isTimeShort && this.#canReconnect;
  }

  /** A connection is made. */
  connected(): void {
    this.#connectedAtMs = this.#params.context.platform.now();
    this.#isTimeShort = false;
  }

  /** The connection gave a response. What the service says of itself, and of what went wrong, makes it no good one. */
  heard({ content, outputTranscription, errorCode, goAway }: LiveLlmResponse): void {
    if ((content ?? outputTranscription) && errorCode === undefined) this.#failures = 0;
    if (goAway) this.#isTimeShort = true;
  }

  /**
   * Settles when the next connection is to be made after one that was left because its time was over.
   * @throws LiveConnectionError when all are over as soon as they are made @throws RunAbortedError when the wait is ended
   */
  afterLeave(): Promise<void> {
    const message = 'the service takes leave of connections as soon as they are made';
    return this.#anew(new LiveConnectionError(message, { isRetryable: true }));
  }

  /**
   * Settles when the next connection is to be made after one that failed, or none is.
   * @throws the error when it ends the run @throws RunAbortedError when the wait is ended
   */
  async afterLoss(error: unknown): Promise<void> {
    const { session, ending } = this.#params;
    const isHandleRefused = LiveConnectionError.isInstance(error) && error.isHandleRefused;
    if (this.#params.isDone()) await this.#anew(error);
    else if (isHandleRefused && session.handle !== undefined) session.giveUpHandle();
    else if (this.#isTimeShort && !this.#canReconnect) ending.end('timedOut');
    else await this.#anew(error);
  }

  async #anew(error: unknown): Promise<void> {
    const { context, waiting, isDone } = this.#params;
    const { platform } = context;
    if (!isLoss(error) || (!this.#canReconnect && !isDone())) throw error;
    // Who hands over needs no connection any more: the wait is ended with the agent's part.
    if (isDone()) await waiting.until(Promise.withResolvers<never>().promise);
    if (this.#connectedAtMs !== undefined && platform.now() - this.#connectedAtMs >= GOOD_MS) {
      this.#failures = 0;
      this.#isAtOnce = true;
    }
    this.#connectedAtMs = undefined;
    const maxAttempts = context.liveRequestQueue?.isClosed ? MAX_ATTEMPTS_WHEN_CLOSED : MAX_ATTEMPTS;
    if (++this.#failures > maxAttempts) throw error;
    if (this.#isAtOnce) {
      this.#isAtOnce = false;
      return;
    }
    const delayMs = FIRST_DELAY_MS * 2 ** Math.max(this.#failures - 2, 0);
    const due = Promise.withResolvers<void>();
    const callOff = platform.schedule(delayMs, due.resolve);
    try {
      await waiting.until(due.promise);
    } finally {
      callOff();
    }
    if (isDone()) await waiting.until(Promise.withResolvers<never>().promise);
  }
}

/** True for a connection that was lost, not refused: another one may succeed. */
export function isLoss(error: unknown): error is LiveConnectionError {
  return LiveConnectionError.isInstance(error) && error.isRetryable;
}
