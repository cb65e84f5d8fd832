import { type InvocationContext, LiveConnectionError, type LiveLlmResponse } from '@eventloom/core';
import type { AbortGuard } from '@eventloom/core/internal';
import type { LiveEnding } from './live-ending.ts';
import type { LiveFlow } from './live-flow.ts';
import type { ServiceSession } from './service-session.ts';

/** Maximum number of consecutive connections that may fail. */
const MAX_ATTEMPTS = 5;
/** Maximum number of consecutive failures after the client closed its queue and written requests remain to be sent. */
const MAX_ATTEMPTS_WHEN_CLOSED = 1;
const FIRST_DELAY_MS = 250;
/** Time after which a connection counts as successful even without a reply, in milliseconds. */
const GOOD_MS = 10_000;

interface ReconnectPolicyParams {
  readonly context: InvocationContext;
  readonly serviceSession: ServiceSession;
  readonly ending: LiveEnding;
  readonly flow: LiveFlow;
  /** Ends every wait when it is aborted. */
  readonly waiting: AbortGuard;
}

/**
 * Decides whether and when another connection is opened: immediately after a connection that lasted, then with growing delays. A reply of
 * the model resets the count of failures, but not the delay, because a service that replies and closes would otherwise be reconnected in a
 * tight loop.
 */
export class ReconnectPolicy {
  readonly #params: ReconnectPolicyParams;
  readonly #canReconnect: boolean;
  #failures = 0;
  #connectedAtMs: number | undefined;
  /** True if the next connection may be opened without a delay. */
  #isAtOnce = true;
  #isTimeShort = false;

  constructor(params: ReconnectPolicyParams) {
    this.#params = params;
    this.#canReconnect = params.context.runConfig.liveReconnect !== false;
  }

  /** True if the connection should be left at the end of the current turn. */
  get isLeaveDue(): boolean {
    return this.#isTimeShort && this.#canReconnect;
  }

  /** Records that a connection is open. */
  connected(): void {
    this.#connectedAtMs = this.#params.context.platform.now();
    this.#isTimeShort = false;
  }

  /** Records a response. Status messages of the service and errors do not reset the count of failures. */
  heard({ content, outputTranscription, errorCode, goAway }: LiveLlmResponse): void {
    if ((content ?? outputTranscription) && errorCode === undefined) this.#failures = 0;
    if (goAway) this.#isTimeShort = true;
  }

  /**
   * Resolves when the next connection may be opened, after one that was left because of the service's time limit.
   * @throws LiveConnectionError if connections end as soon as they are open
   * @throws RunAbortedError if the wait is aborted
   */
  afterLeave(): Promise<void> {
    const message = 'the service announces the end of connections as soon as they are open';
    return this.#reconnect(new LiveConnectionError(message, { isRetryable: true }));
  }

  /**
   * Resolves after a failed connection when the next one may be opened, or when none will be opened.
   * @throws the given error if it ends the run
   * @throws RunAbortedError if the wait is aborted
   */
  async afterLoss(error: unknown): Promise<void> {
    const { serviceSession, ending, flow } = this.#params;
    const isHandleRefused = LiveConnectionError.isInstance(error) && error.isHandleRefused;
    if (flow.isDone) await this.#reconnect(error);
    else if (isHandleRefused && serviceSession.handle !== undefined) serviceSession.giveUpHandle();
    else if (this.#isTimeShort && !this.#canReconnect) ending.end('timedOut');
    else await this.#reconnect(error);
  }

  async #reconnect(error: unknown): Promise<void> {
    const { context, waiting, flow } = this.#params;
    const { platform } = context;
    if (!isLoss(error) || (!this.#canReconnect && !flow.isDone)) throw error;
    // No connection is needed any more: wait until the agent's part of the run ends and aborts the wait.
    if (flow.isDone) await waiting.until(Promise.withResolvers<never>().promise);
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
    if (flow.isDone) await waiting.until(Promise.withResolvers<never>().promise);
  }
}

/** Returns true for the error of a connection that was lost and not refused, so that another one may succeed. */
export function isLoss(error: unknown): error is LiveConnectionError {
  return LiveConnectionError.isInstance(error) && error.isRetryable;
}
