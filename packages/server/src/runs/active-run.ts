import { type Event, type EventloomError, type Platform, RunAbortedError, type SessionKey } from '@eventloom/core';
import { otherWork } from '@eventloom/core/internal';
import { eventPosition, MESSAGE_POSITION, type RunLog } from './run-log.ts';

/** The stream of a run, as an `ActiveRun` records it: see `RunStream`, whose declaration leaves most of these members out. */
export interface HostedStream {
  readonly invocationId: string;
  readonly startKind: 'message' | 'answers' | 'resume' | 'live';
  readonly begun: { readonly attempt: number; readonly offset: number } | undefined;
  readonly offset: number;
  readonly leavesRunOpen: boolean;
  readonly failure?: Error | undefined;
  whenBegun(): Promise<boolean>;
  next(): Promise<IteratorResult<Event, void>>;
  return(): Promise<IteratorResult<Event, void>>;
  retry(): HostedStream;
}

/** Parameters of an `ActiveRun`. */
interface ActiveRunParams {
  /** Gets the events of the run. */
  readonly log: RunLog;
  readonly stream: HostedStream;
  /** Aborts the stream. */
  readonly controller: AbortController;
  readonly name: string;
  readonly waitingId: string | undefined;
}

/**
 * Number of characters that a run appends before other work runs: a few events at first, so that its beginning is sent immediately, then
 * twice as many each time, up to the length of one write of a reader, so that the client reads while the run produces more. The runs
 * of a user share that length.
 */
const CHARS_OF_FIRST_SLICE = 2 * 1024;
const MAX_CHARS_PER_SLICE = 64 * 1024;
/** Number of characters that an event counts that readers do not get. */
const CHARS_OF_BOOKKEEPING = 256;

/** A run of this process from its start to its end: records its events in its log, and can cancel or stop it. */
export class ActiveRun {
  readonly key: SessionKey;
  readonly log: RunLog;
  /** The name under which the process lists the run. It changes if the run that gets the session is another one than expected. */
  name: string;
  /** The stream that is recorded: another one after each retry. */
  stream: HostedStream;
  /**
   * The way the run was started. Answers may continue another run, and a resume does: its id and the first position of its log
   * are known once the run has begun.
   */
  readonly startKind: HostedStream['startKind'];
  /** Id of a request that waits to continue a run, by which other processes find it; undefined for other runs, and without a request id. */
  readonly waitingId: string | undefined;
  /** True once the run has its session and its message is stored. */
  hasBegun = false;
  /** True once the run was asked to end. */
  isCancelled = false;
  /** The reason why the run was stopped; undefined if it was not. */
  stopReason: EventloomError | undefined;
  readonly #controller: AbortController;
  #begun: PromiseWithResolvers<boolean> | undefined;

  constructor({ log, stream, controller, name, waitingId }: ActiveRunParams) {
    this.key = log.key;
    this.log = log;
    this.stream = stream;
    this.#controller = controller;
    this.name = name;
    this.startKind = stream.startKind;
    this.waitingId = waitingId;
  }

  /** Fires when the run is aborted. */
  get abortSignal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The id by which other processes ask this one to stop the run. */
  get publishedId(): string {
    return (!this.hasBegun && this.waitingId) || this.log.invocationId;
  }

  /** True while a run that may continue an earlier one waits for its session. */
  get waitsToContinue(): boolean {
    return this.startKind !== 'message' && !this.hasBegun;
  }

  /** Records that the run has its session and its message is stored. */
  noteBegun(invocationId: string, { attempt, offset }: NonNullable<HostedStream['begun']>): void {
    this.hasBegun = true;
    const { log } = this;
    log.invocationId = invocationId;
    log.attempt = attempt;
    // Readers get answers from the session.
    if (offset > 0) log.startAfter(eventPosition(offset));
    else if (this.startKind === 'answers') log.startAfter(MESSAGE_POSITION);
    this.#begun?.resolve(true);
  }

  /** Resolves to true when the run's message is stored, to false if the run ended before that. Never rejects. */
  whenBegun(): Promise<boolean> {
    if (this.#begun) return this.#begun.promise;
    const begun = (this.#begun = Promise.withResolvers());
    if (this.hasBegun) begun.resolve(true);
    else void this.log.ended.then(() => begun.resolve(this.hasBegun));
    return begun.promise;
  }

  /**
   * Records the events of the stream until its end, with or without readers. Throws the error of the run.
   * @param runsOfUser returns the number of active runs of the user, who share the longest slice
   */
  async record(timers: Pick<Platform, 'schedule'>, runsOfUser: () => number): Promise<void> {
    const { log, stream } = this;
    let charsOfSlice = CHARS_OF_FIRST_SLICE;
    let charsLeft = charsOfSlice;
    for (let step = await stream.next(); !step.done; step = await stream.next()) {
      const event = step.value;
      charsLeft -= log.append(event, stream.offset) || CHARS_OF_BOOKKEEPING;
      if (this.stopReason && event.partial !== true) this.abort(this.stopReason);
      if (charsLeft > 0) continue;
      // An agent that never waits would otherwise block all readers and all other runs.
      const mostChars = Math.max(MAX_CHARS_PER_SLICE / runsOfUser(), CHARS_OF_FIRST_SLICE);
      charsOfSlice = Math.min(2 * charsOfSlice, mostChars);
      charsLeft = charsOfSlice;
      await otherWork(timers);
    }
  }

  /** Cancels the run. Does nothing for a run that has ended. */
  cancel(): void {
    if (this.log.end) return;
    this.isCancelled = true;
    this.abort(new RunAbortedError('the run was cancelled', { cancelsCalls: true }));
  }

  /** Aborts the run. Its committed events stay. */
  abort(reason: EventloomError): void {
    this.stopReason ??= reason;
    this.#controller.abort(this.stopReason);
  }

  /** Ends the run when its next event is stored, so that no unfinished work is lost. */
  stopAtCommit(reason: EventloomError): void {
    this.stopReason ??= reason;
  }
}
