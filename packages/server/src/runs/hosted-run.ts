import { type Event, EventloomError, RunAbortedError, serializeEvent, type SessionKey, toError } from '@eventloom/core';
import { RunBuffer } from './run-buffer.ts';

/** Characters that a run appends before it lets everybody else have a turn: few at first, so that its begin gets out soon. */
const CHARS_OF_FIRST_TURN = 16 * 1024;
const CHARS_PER_TURN = 512 * 1024;

/** A run as its host drives it: the runner's `RunStream` is one. */
export interface RunEvents {
  /** Known before the first event. */
  readonly invocationId: string;
  next(): Promise<IteratorResult<Event, void>>;
}

/** What a run tells those who follow it. They look at the run themselves. */
export interface RunFollower {
  /** There is more to read, or the run ended. */
  notify(): void;
}

/** What a run needs of the place that hosts it. */
export interface RunHost {
  /** Told of each event before any follower is: makes room where the limits ask for it. */
  appended(run: HostedRun, chars: number): void;
  ended(run: HostedRun): void;
  /** Calls back once after `delayMs`; the returned function calls it off. */
  schedule(delayMs: number, callback: () => void): () => void;
}

/**
 * A run that the server drives from its begin to its end, whoever reads it meanwhile: its events, its outcome, and its followers.
 * A follower that goes away, or that is slow, changes nothing for the run.
 */
export class HostedRun {
  readonly key: SessionKey;
  readonly invocationId: string;
  readonly buffer = new RunBuffer();
  readonly #host: RunHost;
  readonly #controller = new AbortController();
  readonly #followers = new Set<RunFollower>();
  readonly #opened = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  #failure: Error | undefined;
  #isEnded = false;
  #wasFollowed = false;
  #stopReason: EventloomError | undefined;
  #charsLeft = CHARS_OF_FIRST_TURN;

  /** @param begin starts the run; nothing of it happens before `drive` */
  constructor(key: SessionKey, host: RunHost, begin: (abortSignal: AbortSignal) => RunEvents) {
    this.key = key;
    this.#host = host;
    const stream = begin(this.#controller.signal);
    this.invocationId = stream.invocationId;
    void this.#drive(stream);
  }

  /** Settles at the first event, at the end when there is none, or when the time is over. Never rejects. */
  openedWithin(timeoutMs: number): Promise<void> {
    return this.#within(this.#opened.promise, timeoutMs);
  }

  /** Settles at the end, or when the time is over. Never rejects. */
  endedWithin(timeoutMs: number): Promise<void> {
    return this.#within(this.#ended.promise, timeoutMs);
  }

  /** Settles when the run is over, however it ended. Never rejects. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Why the run failed; undefined while it goes on, and when it did not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** True once somebody was given the run to follow. */
  get wasFollowed(): boolean {
    return this.#wasFollowed;
  }

  get followers(): ReadonlySet<RunFollower> {
    return this.#followers;
  }

  /** The number of the last thing that a reader gets: the last event, or the failure after it. */
  get finalSeq(): number {
    return this.buffer.lastSeq + (this.#failure === undefined ? 0 : 1);
  }

  follow(follower: RunFollower): void {
    this.#wasFollowed = true;
    this.#followers.add(follower);
  }

  unfollow(follower: RunFollower): void {
    this.#followers.delete(follower);
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
      this.#failure = RunAbortedError.isInstance(error) && this.#stopReason ? this.#stopReason : toError(error);
    }
    this.#isEnded = true;
    this.#host.ended(this);
    this.#opened.resolve();
    this.#ended.resolve();
    for (const follower of this.#followers) follower.notify();
    this.#followers.clear();
  }

  #append(event: Event): void {
    const text = serializeEvent(event);
    this.buffer.append(text);
    this.#charsLeft -= text.length;
    this.#host.appended(this, text.length);
    this.#opened.resolve();
    for (const follower of this.#followers) follower.notify();
  }

  async #within(promise: Promise<void>, timeoutMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#host.schedule(timeoutMs, late.resolve);
    await Promise.race([promise, late.promise]);
    cancel();
  }

  /** An agent that never waits for anything would otherwise keep every reader, and every other run, from their turn. */
  #letOthers(): Promise<void> {
    this.#charsLeft = CHARS_PER_TURN;
    return new Promise((resolve) => void this.#host.schedule(0, resolve));
  }
}
