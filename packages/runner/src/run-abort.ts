import { type EventloomError, RunAbortedError, ShuttingDownError } from '@eventloom/core';
import { AbortGuard } from '@eventloom/core/internal';

/** The abort of one run: the signal of its caller, the signal that its work listens to, and the reason. */
export class RunAbort {
  /** Stops the work of the run: models, tools and waits. Also fires when only the agent is stopped, before the end of the run is stored. */
  readonly guard: AbortGuard = new AbortGuard();
  /** The caller's signal, once it is watched. Read-only for others. */
  signal: AbortSignal | undefined;
  /** The reason of the abort; undefined unless the run was aborted. Read-only for others. */
  reason: EventloomError | undefined;
  /** Rejects the wait of the run for its agent, which may ignore an abort. Set by the code that waits. */
  interrupt: ((reason: EventloomError) => void) | undefined;

  /**
   * Listens to the caller's signal, until the end of the stream removes this listener.
   *
   * @throws RunAbortedError if the signal has fired already
   */
  watch(signal: AbortSignal | undefined): void {
    this.signal = signal;
    if (!signal) return;
    if (signal.aborted) throw new RunAbortedError('the run was aborted before it started', { cause: signal.reason });
    signal.addEventListener('abort', this, { once: true });
  }

  /** Aborts the run when the caller's signal fires. */
  handleEvent(): void {
    const reason: unknown = this.signal?.reason;
    // The stored message equals what the server reports to clients, for example that the run was cancelled.
    const what = ShuttingDownError.isInstance(reason)
      ? 'the run was aborted, because the process shuts down'
      : 'the run was aborted';
    const { message, cancelsCalls } = RunAbortedError.isInstance(reason) ? reason : new RunAbortedError(what);
    this.fire(new RunAbortedError(message, { cause: reason, cancelsCalls }));
  }

  /** Aborts the run: work that listens to the guard stops, and the stream throws the reason. */
  fire(reason: EventloomError): void {
    this.reason ??= reason;
    this.guard.abort(reason);
    this.interrupt?.(reason);
  }

  /** Stops the work of an agent that has not finished. The run itself is not aborted. */
  stopWork(): void {
    this.guard.abort(new RunAbortedError('the run ended before its agent had finished'));
  }
}
