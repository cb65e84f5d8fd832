import type { EventloomError, SessionKey } from '@eventloom/core';
import { RunBuffer } from './run-buffer.ts';
import type { NumberedEvent } from './run-relay.ts';

/** What a run tells those who follow it. They look at the run themselves. */
export interface RunFollower {
  /** There is more to read, or the run ended. */
  notify(): void;
  /** Others want its place: it leaves soon, unless it goes on reading. */
  probe(): void;
}

/** A run as its readers see it, whichever process drives it: its events, its end, and its followers. */
export abstract class FollowedRun {
  readonly key: SessionKey;
  readonly buffer: RunBuffer;
  #invocationId: string;
  readonly #followers = new Set<RunFollower>();
  #isEnded = false;
  #failureText: string | undefined;
  #loss: EventloomError | undefined;

  constructor(key: SessionKey, invocationId: string, buffer: RunBuffer) {
    this.key = key;
    this.#invocationId = invocationId;
    this.buffer = buffer;
  }

  /** True when this process knows every event there is; another's run may be further than that. */
  abstract readonly isUpToDate: boolean;

  /** What a reader is told before the buffer; see `ReadEarlier`. */
  abstract earlier(afterSeq: number): Iterator<NumberedEvent> | undefined;

  get invocationId(): string {
    return this.#invocationId;
  }

  /** Sets the id that the run has in fact, if it was expected to be another run. */
  protected rename(invocationId: string): void {
    this.#invocationId = invocationId;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** What stands behind the last event of a run that failed: JSON of `{error, code}`, with a number of its own. */
  get failureText(): string | undefined {
    return this.#failureText;
  }

  /** Why the run cannot be followed to its own end. No line of the run: it has no number. */
  get loss(): EventloomError | undefined {
    return this.#loss;
  }

  get followers(): ReadonlySet<RunFollower> {
    return this.#followers;
  }

  /** The number of the last thing that a reader gets: the last event, or the failure after it. */
  get finalSeq(): number {
    return this.buffer.lastSeq + (this.#failureText === undefined ? 0 : 1);
  }

  follow(follower: RunFollower): void {
    this.#followers.add(follower);
  }

  unfollow(follower: RunFollower): void {
    this.#followers.delete(follower);
  }

  /** Tells of what was appended to the buffer. */
  protected notifyFollowers(): void {
    for (const follower of this.#followers) follower.notify();
  }

  /** No event comes any more. Who has not read all of them yet goes on reading. */
  protected end(failureText: string | undefined, loss?: EventloomError): void {
    this.#isEnded = true;
    this.#failureText = failureText;
    this.#loss = loss;
    this.notifyFollowers();
  }
}

/** Names a run of a session: a session that is forked or imported may have runs with the ids of others. Ids hold no NUL. */
export function nameOfRun({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
}

/** True for the run of this session. */
export function isRunOf({ key }: FollowedRun, { appName, userId, sessionId }: SessionKey): boolean {
  return key.sessionId === sessionId && key.userId === userId && key.appName === appName;
}
