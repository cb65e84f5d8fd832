import {
  ConfigurationError,
  type Event,
  type EventloomError,
  type LiveRun,
  type MaybePromise,
  RunAbortedError,
  type RunRecord,
  RunTimeoutError,
  type Session,
  type SessionLease,
  ShuttingDownError,
} from '@eventloom/core';
import { AbortGuard, type ObservedOperation, streamedRecordOf } from '@eventloom/core/internal';
import { type AgentDriver, DONE, type EventResult } from './agent-driver.ts';
import type { EventCommitter } from './event-committer.ts';
import { ChunkShortcut, type CountedEvent, type SteppedRun } from './chunk-shortcut.ts';
import { run } from './run.ts';
import type { EndOfRun } from './run-end.ts';
import { type RunInput, type RunStart, startKindOf } from './run-request.ts';
import type { RunBeginning, RunStream } from './run-stream.ts';
import type { Runner } from './runner.ts';
import type { SessionHolder } from './session-lock.ts';

/** The abort of one run: the signal of its caller, the signal that its work listens to, and the reason. */
class RunAbort {
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

/**
 * The stream of one run, and the runner's handle on it. Three parties use it:
 *
 * - The reader calls `next`, which steps the generator `run`; the constructor creates it. Chunks after the first go
 *   from the agent to the reader without it: see `ChunkShortcut`.
 * - `run` asks the agent for its events with `nextStep`, and notes here that the run has begun, how far it has come, and its end.
 * - A run that wants the session calls `yieldSession`: see `SessionHolder`.
 *
 * Others assign these fields: `run` assigns `live` and `operation`, `lock-run.ts` `invocationId` and `sawSession`, and the Runner of
 * `@eventloom/adk` `startKind`. All other fields are read-only for them.
 *
 * It is not a generator with extra properties: setting them would cost half a microsecond.
 */
export class RunControl implements RunStream, SessionHolder, SteppedRun {
  invocationId: string;
  startKind: RunStart['kind'];
  /** The live side of a live run, once its parameters are checked. */
  live: LiveRun | undefined;
  /** Observes the run, once its session is locked. */
  operation: ObservedOperation | undefined;
  readonly abort: RunAbort = new RunAbort();
  /** True once the store refused the run because of another run of its session: a session that is missing then was deleted. */
  sawSession = false;
  begun: RunBeginning | undefined;
  offset = 0;
  leavesRunOpen = false;
  /** The id of this run, unless its message continues another one. */
  readonly ownId: string;
  readonly #runner: Runner;
  readonly #input: RunInput;
  readonly #events: ChunkShortcut;
  #phase: 'new' | 'read' | 'ended' = 'new';
  #whenBegun: PromiseWithResolvers<boolean> | undefined;
  /** Cancels the timer of `limitTime`. */
  #cancelTimer: (() => void) | undefined;

  constructor(runner: Runner, input: RunInput, invocationId: string) {
    this.#runner = runner;
    this.#input = input;
    this.ownId = invocationId;
    this.invocationId = invocationId;
    this.startKind = input.method === 'runLive' ? 'live' : startKindOf(input.params);
    this.#events = new ChunkShortcut(this, run(runner, input, this));
  }

  /** Moves `offset` to an event with this sequence number, which is about to be yielded. Returns the event. */
  advanceTo(event: Event, seq: number): CountedEvent {
    this.#events.requestsToRun--;
    this.offset = seq - (this.begun?.firstSeq ?? 0);
    return event as CountedEvent;
  }

  /**
   * Moves `offset` to an event of this session that is about to be yielded; an event that is not stored leaves `offset`
   * unchanged. Returns the event.
   */
  advanceIn({ events, lastSeq }: Session, event: Event): CountedEvent {
    this.#events.requestsToRun--;
    const { id } = event;
    // Events of agents called as tools may be stored after this event. An event of such an agent is found by the record
    // that says that it was yielded: see `streamedRecordOf`.
    const firstSeq = this.begun?.firstSeq ?? 0;
    for (let seq = lastSeq, index = events.length - 1; seq > firstSeq + this.offset; seq--, index--) {
      const stored = events[index];
      if (!stored || (stored.id !== id && streamedRecordOf(stored)?.id !== id)) continue;
      this.offset = seq - firstSeq;
      break;
    }
    return event as CountedEvent;
  }

  /** Passes an event on that is about to be yielded and not stored. Returns the event. */
  pass(event: Event): CountedEvent {
    this.#events.requestsToRun--;
    return event as CountedEvent;
  }

  /** Ends the run once it has taken this time. A live run first stores the speech so far. */
  limitTime(maxRunMs: number): void {
    const late = new RunTimeoutError(
      `the run took longer than ${maxRunMs} ms, which is its limit; raise runConfig.maxRunMs, and limits.maxRunMs of a server, if it needs more`,
    );
    const { platform } = this.#runner;
    this.#cancelTimer = platform.schedule(maxRunMs, () => platform.background(this.yieldSession(late, false)));
  }

  /**
   * Ends the run because something else takes its session. A live run first stores the speech so far. With `storesEnd`
   * another run ends as one that its client stops, if its reader waits for its next event, because a run continues only
   * then: it stores the text so far and its end. Resolves to true for such a run; any other stores nothing more.
   */
  async yieldSession(reason: EventloomError, storesEnd: boolean): Promise<boolean> {
    await this.live?.yieldSession(this.#runner.platform);
    const endsInSession = storesEnd && !this.live && this.#events.isAwaited;
    this.abort.fire(endsInSession ? new RunAbortedError(reason.message) : reason);
    return endsInSession;
  }

  /** Asks the agent for its next event. Does not wait for an agent that ignores an abort. */
  nextStep(driver: AgentDriver): MaybePromise<EventResult> {
    const { stepAfterChunks } = this.#events;
    if (stepAfterChunks) {
      this.#events.stepAfterChunks = undefined;
      return stepAfterChunks;
    }
    if (driver.state === 'done') return DONE;
    if (this.abort.reason) throw this.abort.reason;
    const { promise, resolve, reject } = Promise.withResolvers<EventResult>();
    // Set before the step, because the step may abort the run. A live run has its own wait for its client.
    if (!this.live) this.abort.interrupt = reject;
    const step = this.operation ? this.operation.run(() => driver.next()) : driver.next();
    if (this.live) return this.live.until(step, driver.context);
    // Promises are chained directly: engines follow such a chain to show asynchronous stack frames.
    step.then(resolve, reject);
    return promise;
  }

  /** Lets the chunks after this one go from the agent to the reader directly: see `ChunkShortcut`. Returns the chunk. */
  passChunks(driver: AgentDriver, committer: EventCommitter, chunk: Event): CountedEvent {
    this.#events.requestsToRun--;
    // A live run waits for its client as well, and plugins may turn a chunk into an event that is stored.
    if (!this.live && !committer.asksPlugins) this.#events.passChunks(driver, committer);
    return chunk as CountedEvent;
  }

  /** Runs one step of the run inside the operation that observes it. */
  observe<T>(step: () => T): T {
    return this.operation ? this.operation.run(step) : step();
  }

  /** Closes an agent that did not end. First stops work that its finally blocks may wait for. */
  async closeAgent(driver: AgentDriver | undefined): Promise<void> {
    if (driver?.state !== 'running') return;
    this.abort.stopWork();
    await this.observe(() => driver.close());
  }

  /**
   * Notes that the run has begun: its message is stored, or it is resumed. A followed run of another process has no
   * lease here.
   *
   * @param lastSeq the sequence number of the session's newest event. Default: that of the run's first event
   */
  noteBegun(
    { invocationId, firstSeq }: Pick<RunRecord, 'invocationId' | 'firstSeq'>,
    lease?: SessionLease,
    lastSeq = firstSeq,
  ): void {
    this.invocationId = invocationId;
    this.offset = lastSeq - firstSeq;
    this.begun = { attempt: lease?.epoch ?? 0, firstSeq, offset: this.offset };
    this.#whenBegun?.resolve(true);
  }

  /**
   * Marks the stream as ended. Aborts work that continues beside a run that did not complete.
   * @param end undefined for a run that did not begin
   */
  end(end?: EndOfRun): void {
    this.#cancelTimer?.();
    const isCompleted = end?.outcome !== undefined && !end.failure;
    const hasBegun = this.begun !== undefined;
    this.leavesRunOpen = hasBegun && !end?.outcome;
    this.abort.signal?.removeEventListener('abort', this.abort);
    if (isCompleted) this.operation?.succeed();
    else this.operation?.leave();
    if (!isCompleted) this.abort.stopWork();
    this.live?.close();
    this.#phase = 'ended';
    this.#whenBegun?.resolve(hasBegun);
  }

  whenBegun(): Promise<boolean> {
    this.#whenBegun ??= Promise.withResolvers();
    if (this.begun || this.#phase === 'ended') this.#whenBegun.resolve(this.begun !== undefined);
    return this.#whenBegun.promise;
  }

  retry(): RunStream {
    const again = new RunControl(this.#runner, this.#input, this.ownId);
    again.sawSession = this.sawSession;
    return again;
  }

  next(): Promise<EventResult> {
    if (this.#phase === 'new') this.#phase = 'read';
    return this.#events.next();
  }

  return(): Promise<EventResult> {
    this.#endUnbegun();
    return this.#events.return();
  }

  throw(error: unknown): Promise<EventResult> {
    this.#endUnbegun();
    return this.#events.throw(error);
  }

  /** Ends the stream if the run has not begun. A generator that is closed before its first step runs none of its code. */
  #endUnbegun(): void {
    if (this.#phase === 'new') this.end();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

function refuseMistake(): never {
  throw new ConfigurationError(
    'the events of a run come one after the other; write for await (const event of runner.runAsync({ … })), or for (const event of await runner.run({ … }))',
  );
}

/**
 * Properties of lists, for streams and for the promises of `run`: programs in JavaScript take both for lists. Types do
 * not have them, so that the compiler refuses such programs. There is no `then` for streams, because `await` would call
 * it.
 */
const LIST_MISTAKES = Object.fromEntries(
  [Symbol.iterator, 'map', 'filter', 'forEach', 'reduce'].map((key) => [key, { value: refuseMistake }]),
);
Object.defineProperties(RunControl.prototype, { ...LIST_MISTAKES, catch: { value: refuseMistake } });

const EVENTS_PROMISE: object = Object.create(Promise.prototype, {
  ...LIST_MISTAKES,
  [Symbol.asyncIterator]: { value: refuseMistake },
});

/** Returns the promise of a run's events, which throws an error with the code to write if it is used as a list or as a stream. */
export function toEventsPromise(events: Promise<Event[]>): Promise<Event[]> {
  Object.setPrototypeOf(events, EVENTS_PROMISE);
  return events;
}
