import { type InvocationContext, LiveConnectionError, type LiveLlmResponse } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { LiveEnding } from './live-ending.ts';
import type { ServiceSession } from './service-session.ts';

/** The most connections in a row that may fail. */
const MAX_ATTEMPTS = 5;
/** The same after the client hung up, for written requests that are not sent yet. */
const MAX_ATTEMPTS_WHEN_CLOSED = 1;
const FIRST_DELAY_MS = 250;
/** A connection that lasted this long was good, also without a word. */
const GOOD_MS = 10_000;

export interface ReconnectPolicyParams {
  readonly context: InvocationContext;
  readonly session: ServiceSession;
  readonly ending: LiveEnding;
  /** Aborts waits. */
  readonly waiting: AbortGuard;
  /** True when the model gets nothing more, and only calls are awaited. */
  readonly isDone: () => boolean;
}

/**
 * Decides whether and when another connection is opened: at once after one that lasted, then with growing delays. A connection on which the
 * model said something resets the count of failures. If it did not last, the next one still waits: otherwise a service that says a word and
 * closes would be connected to in a tight loop.
 */
export class ReconnectPolicy {
  readonly #params: ReconnectPolicyParams;
  readonly #canReconnect: boolean;
  #failures = 0;
  #connectedAtMs: number | undefined;
  /** True while no connection was opened without a delay yet. */
  #isAtOnce = true;
  #isTimeShort = false;

  constructor(params: ReconnectPolicyParams) {
    this.#params = params;
    this.#canReconnect = params.context.runConfig.liveReconnect !== false;
  }

  /** True when the connection is to be left between two turns. */
  get isLeaveDue(): boolean {
    return this.#isTimeShort && this.#canReconnect;
  }

  /** Notes that a connection is open. */
  connected(): void {
    this.#connectedAtMs = this.#params.context.platform.now();
    this.#isTimeShort = false;
  }

  /** Notes a response. Reports of the service and errors do not make the connection a good one. */
  heard({ content, outputTranscription, errorCode, goAway }: LiveLlmResponse): void {
    if ((content ?? outputTranscription) && errorCode === undefined) this.#failures = 0;
    if (goAway) this.#isTimeShort = true;
  }

  /**
   * Resolves when the next connection may be opened, after one that was left because of the service's time limit.
   * @throws LiveConnectionError when connections end as soon as they are open @throws RunAbortedError when the wait is aborted
   */
  afterLeave(): Promise<void> {
    const message = 'the service announces the end of connections as soon as they are open';
    return this.#reconnect(new LiveConnectionError(message, { isRetryable: true }));
  }

  /**
   * Resolves when the next connection may be opened, or none will be, after one that failed.
   * @throws the error when it ends the run @throws RunAbortedError when the wait is ended
   */
  async afterLoss(error: unknown): Promise<void> {
    const { session, ending } = this.#params;
    const isHandleRefused = LiveConnectionError.isInstance(error) && error.isHandleRefused;
    if (this.#params.isDone()) await this.#reconnect(error);
    else if (isHandleRefused && session.handle !== undefined) session.giveUpHandle();
    else if (this.#isTimeShort && !this.#canReconnect) ending.end('timedOut');
    else await this.#reconnect(error);
  }

  async #reconnect(error: unknown): Promise<void> {
    const { context, waiting, isDone } = this.#params;
    const { platform } = context;
    if (!isLoss(error) || (!this.#canReconnect && !isDone())) throw error;
    // An agent that hands over needs no connection: the wait is aborted with the agent's part.
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

/** True for the error of a connection that was lost, not refused: another one may succeed. */
export function isLoss(error: unknown): error is LiveConnectionError {
  return LiveConnectionError.isInstance(error) && error.isRetryable;
}
