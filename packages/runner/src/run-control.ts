import { AbortGuard, type Event, type EventloomError, type LiveRun, RunAbortedError } from '@eventloom/core';
import { type ObservedOperation } from '@eventloom/core/internal';
import type { AgentDriver } from './agent-driver.ts';
import type { Runner } from './runner.ts';

/** The handle on one run: aborts it, and tells its caller when it has started and under which id. */
export class RunControl {
  /** Known from the beginning, except for answers: these may continue the run that asked, which is known once the run has started. */
  invocationId: string;
  /** The live side of a live run, once its parameters are checked. */
  live: LiveRun | undefined;
  /** Observes the run, once its session is locked. */
  operation: ObservedOperation | undefined;
  readonly abortGuard: AbortGuard = new AbortGuard();
  readonly #runner: Runner;
  readonly #signal: AbortSignal | undefined;
  #abortReason: EventloomError | undefined;
  /** The driver whose next event is waited for. */
  #driver: AgentDriver | undefined;
  /** Undefined until the run has started or ended. */
  #isStarted: boolean | undefined;
  #whenStarted: PromiseWithResolvers<boolean> | undefined;

  /** @param signal the caller's own abort */
  constructor(runner: Runner, invocationId: string, signal: AbortSignal | undefined) {
    this.#runner = runner;
    this.invocationId = invocationId;
    this.#signal = signal;
  }

  /** The reason that the run was aborted for, if it was. */
  get abortReason(): EventloomError | undefined {
    return this.#abortReason;
  }

  /** True once the message of the run is stored. */
  get isStarted(): boolean {
    return this.#isStarted === true;
  }

  /** The caller's own abort. */
  get signal(): AbortSignal | undefined {
    return this.#signal;
  }

  /** Follows the caller's signal from now on. @throws RunAbortedError when it has fired already */
  watchSignal(): void {
    const signal = this.#signal;
    if (signal?.aborted) throw new RunAbortedError('the run was aborted before it began', { cause: signal.reason });
    signal?.addEventListener('abort', this.#onSignal, { once: true });
  }

  readonly #onSignal = (): void =>
    this.abort(new RunAbortedError('the run was aborted', { cause: this.#signal?.reason }));

  /** Aborts the run: work that listens to its signal stops, and the stream throws the reason. */
  abort(reason: EventloomError): void {
    this.#abortReason ??= reason;
    this.abortGuard.abort(reason);
    this.#driver?.interrupt(reason);
  }

  /** Aborts the run because another one takes its session. A live run first stores what was said so far. */
  async yieldSession(reason: EventloomError): Promise<void> {
    await this.live?.yieldSession(this.#runner.platform);
    this.abort(reason);
  }

  /** Asks the agent for its next event. After an abort, an agent that does not listen to it is not waited for. */
  next(driver: AgentDriver): Promise<IteratorResult<Event, void>> {
    this.abortGuard.check();
    // Before the first step, which may abort the run itself.
    if (!this.live) this.#driver = driver;
    const step = this.operation ? this.operation.run(() => driver.next()) : driver.next();
    return this.live ? this.live.until(step, driver.context) : step;
  }

  /** Runs one step of the run inside the operation that observes it. */
  observe<T>(step: () => T): T {
    return this.operation ? this.operation.run(step) : step();
  }

  /** Closes an agent that did not end. Work that its finally blocks may wait for is stopped first. */
  async closeAgent(driver: AgentDriver | undefined): Promise<void> {
    if (!driver?.isRunning) return;
    this.#stopWork();
    await this.observe(() => driver.close());
  }

  #stopWork(): void {
    this.abortGuard.abort(new RunAbortedError('the run ended before the agent was done'));
  }

  /** Says that the message of the run is stored. */
  start(invocationId: string): void {
    this.invocationId = invocationId;
    this.#settleStarted(true);
  }

  /** Says that the run is over. Work that still goes on beside a run that did not complete is stopped. */
  end(isCompleted: boolean): void {
    this.#signal?.removeEventListener('abort', this.#onSignal);
    if (isCompleted) this.operation?.succeed();
    else this.operation?.leave();
    if (!isCompleted) this.#stopWork();
    this.live?.close();
    this.#settleStarted(false);
  }

  /** Resolves to true when the message of the run is stored, to false when the run ended before. Never rejects. */
  whenStarted(): Promise<boolean> {
    this.#whenStarted ??= Promise.withResolvers();
    if (this.#isStarted !== undefined) this.#whenStarted.resolve(this.#isStarted);
    return this.#whenStarted.promise;
  }

  #settleStarted(isStarted: boolean): void {
    this.#isStarted ??= isStarted;
    this.#whenStarted?.resolve(this.#isStarted);
  }
}
