import {
  type Event,
  type EventloomError,
  RunAbortedError,
  serializeEvent,
  type SessionKey,
  ShuttingDownError,
  toError,
} from '@eventloom/core';
import { RunGoesOnError } from '../errors.ts';
import { errorBody } from '../http/error-response.ts';
import { FollowedRun, type RunFollower } from './followed-run.ts';
import { RunBuffer } from './run-buffer.ts';
import type { NumberedEvent, RunPublication } from './run-relay.ts';
import { within } from './within.ts';

/** Characters that a run appends before it lets everybody else have a turn: few at first, so that its begin gets out soon. */
const CHARS_OF_FIRST_TURN = 16 * 1024;
const CHARS_PER_TURN = 512 * 1024;

/** A run as its host drives it: the runner's `RunStream` is one. */
export interface RunEvents {
  /** Known before the first event; of a run that is expected to go on, it is settled when the run has its session. */
  readonly invocationId: string;
  next(): Promise<IteratorResult<Event, void>>;
  /** Ends the run, if it goes on. */
  return(): Promise<unknown>;
}

/**
 * Starts a run; nothing of it happens before its first event is asked for.
 * @param onBegin to be called when the run has its session and what it is told is stored, with true when it can be resumed
 */
export type BeginRun = (abortSignal: AbortSignal, onBegin: (isResumable?: boolean) => void) => RunEvents;

/** What a run needs of the place that hosts it. */
export interface RunHost {
  /**
   * Told of a run that goes on when it has its session, before any event.
   * @param expectedId the id that the run had until now: answers to calls start a new run when the run that asked has ended meanwhile
   */
  begun(run: HostedRun, expectedId: string): void;
  /** Told of each event before any follower is: makes room where the limits ask for it. */
  appended(run: FollowedRun, chars: number): void;
  ended(run: HostedRun): void;
  /** Reports an error that no caller of the run gets. */
  report(error: unknown): void;
  /** Lets other processes know of the run, where there are any. */
  publish(run: HostedRun): RunPublication | undefined;
  /** Calls back once after `delayMs`; the returned function calls it off. */
  schedule(delayMs: number, callback: () => void): () => void;
}

/** A run that is expected to go on, as its host knows it when it starts. */
export interface ExpectedRun {
  readonly invocationId: string;
  /** The number of its first event. */
  readonly firstSeq: number;
  /** True when it then replays what it committed before. */
  readonly isRetold: boolean;
}

/**
 * A run that the server drives from its begin to its end, whoever reads it meanwhile: its events, its outcome, and its followers.
 * A follower that goes away, or that is slow, changes nothing for the run.
 */
export class HostedRun extends FollowedRun {
  /** True for a run that goes on and begins by telling all that it committed before. */
  readonly isRetold: boolean;
  readonly #host: RunHost;
  #publication: RunPublication | undefined;
  readonly #controller: AbortController;
  readonly #opened = Promise.withResolvers<void>();
  readonly #settled = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #failure: Error | undefined;
  #wasFollowed = false;
  #isResumable: boolean | undefined;
  #stopReason: EventloomError | undefined;
  #charsLeft = CHARS_OF_FIRST_TURN;

  /**
   * @param expected for a run that goes on. Other processes are told of it when it has its session: until then another one may have it
   */
  constructor(key: SessionKey, host: RunHost, begin: BeginRun, expected?: ExpectedRun) {
    const controller = new AbortController();
    const stream = begin(controller.signal, (isResumable) => {
      this.#begun(expected ? stream.invocationId : this.invocationId, isResumable);
    });
    super(key, expected?.invocationId ?? stream.invocationId, new RunBuffer(expected?.firstSeq));
    this.isRetold = expected?.isRetold === true;
    this.#host = host;
    this.#controller = controller;
    if (!expected) this.#publication = host.publish(this);
    void this.#drive(stream).catch((error: unknown) => host.report(error));
  }

  #begun(invocationId: string, isResumable: boolean | undefined): void {
    const expectedId = this.invocationId;
    this.rename(invocationId);
    this.#isResumable = isResumable;
    this.#publication ??= this.#host.publish(this);
    this.#host.begun(this, expectedId);
    this.#settled.resolve();
  }

  /** For a run that goes on: settles when it has its session, or does not get it. Never rejects. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  get isUpToDate(): boolean {
    return true;
  }

  earlier(afterSeq: number): Iterator<NumberedEvent> | undefined {
    return this.#publication?.earlier?.(afterSeq);
  }

  /**
   * Settles at the first event, at the end when there is none, or when the time is over; with a relay, not before the run is
   * announced. Never rejects.
   */
  openedWithin(timeoutMs: number): Promise<void> {
    const opened = this.#opened.promise.then(() => this.#publication?.announced);
    return within(this.#host, opened, timeoutMs);
  }

  /**
   * Settles when every process can find the run, so that a client that is told its name may ask any of them, or when the time is over.
   * Never rejects; undefined when there are no others.
   */
  announcedWithin(timeoutMs: number): Promise<void> | undefined {
    return this.#publication && within(this.#host, this.#publication.announced, timeoutMs);
  }

  /** Settles at the end, or when the time is over. Never rejects. */
  endedWithin(timeoutMs: number): Promise<void> {
    return within(this.#host, this.#ended.promise, timeoutMs);
  }

  /** Settles when the run is over, however it ended. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Why the run failed; undefined while it goes on, and when it did not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** True for a run that goes on when there is something that readers are told before its buffer. */
  get hasEarlier(): boolean {
    return (this.#publication?.told?.size ?? 0) > 0;
  }

  /** True once somebody was given the run to follow. */
  get wasFollowed(): boolean {
    return this.#wasFollowed;
  }

  override follow(follower: RunFollower): void {
    this.#wasFollowed = true;
    super.follow(follower);
  }

  /** No other process may find the run any more. */
  forgetElsewhere(): void {
    this.#publication?.forget();
  }

  /** Ends the run because somebody wants that. One that ended already is left as it is. */
  cancel(): void {
    if (!this.isEnded) this.abort(new RunAbortedError('the run was cancelled'));
  }

  /** Ends the run now. Whatever it committed stays. */
  abort(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#controller.abort(this.#stopReason);
  }

  /** Ends the run when its next event is committed, so that nothing half done is lost. */
  stopAtCommit(reason: EventloomError): void {
    this.#stopReason ??= reason;
  }

  async #drive(stream: RunEvents): Promise<void> {
    try {
      for (;;) {
        const next = await stream.next();
        if (next.done) break;
        this.#append(next.value);
        if (this.#stopReason && next.value.partial !== true) this.abort(this.#stopReason);
        if (this.#charsLeft <= 0) await this.#letOthers();
      }
    } catch (error) {
      this.#failure =
        RunAbortedError.isInstance(error) && this.#stopReason ? this.#stopped(this.#stopReason) : toError(error);
      // What the run itself did not throw leaves it with its session.
      await stream.return().catch(() => undefined);
    }
    try {
      this.end(this.#failure && JSON.stringify(errorBody(this.#failure)));
    } finally {
      // A failure of this bookkeeping must not leave the run in flight, or its callers waiting.
      this.#opened.resolve();
      this.#settled.resolve();
      this.#ended.resolve();
      this.#host.ended(this);
      this.#publication?.notify(true);
    }
  }

  /** Who is to say again what the run has stored, and goes on with, would say it twice. */
  #stopped(reason: EventloomError): EventloomError {
    if (!this.#isResumable || !ShuttingDownError.isInstance(reason)) return reason;
    return new RunGoesOnError('the server is shutting down, and the run goes on at the next start: follow it then', {
      cause: reason,
    });
  }

  #append(event: Event): void {
    if (this.#publication?.told?.has(event.id) && event.partial !== true) return;
    const text = serializeEvent(event);
    this.buffer.append(text);
    this.#charsLeft -= text.length;
    this.#host.appended(this, text.length);
    this.#opened.resolve();
    this.notifyFollowers();
    this.#publication?.notify(event.partial !== true);
  }

  /** An agent that never waits for anything would otherwise keep every reader, and every other run, from their turn. */
  #letOthers(): Promise<void> {
    this.#charsLeft = CHARS_PER_TURN;
    return new Promise((resolve) => void this.#host.schedule(0, resolve));
  }
}
