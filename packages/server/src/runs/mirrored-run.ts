import type { EventloomError, SessionKey } from '@eventloom/core';
import { seqInAttempt } from './attempt-numbers.ts';
import { FollowedRun, type RunFollower } from './followed-run.ts';
import { RunBuffer } from './run-buffer.ts';
import type { NumberedEvent, RemoteRun, RemoteRunFollower, RunEnd, RunRelay } from './run-relay.ts';

/** What a mirrored run needs of the place that keeps it. */
export interface MirrorHost {
  /** Told of what was appended, before any follower is; fewer than none when more was dropped. Makes room where the limits ask for it. */
  appended(run: FollowedRun, chars: number): void;
  /** The run has its first follower. */
  opened(run: MirroredRun): void;
  /** The last follower left: the run is not kept any more. */
  closed(run: MirroredRun): void;
}

/**
 * A run of another process, for all who read it here. It is followed through the relay from its oldest event while it has
 * readers, and forgotten when the last one leaves.
 */
export class MirroredRun extends FollowedRun implements RemoteRunFollower {
  readonly #relay: RunRelay;
  readonly #remote: RemoteRun;
  readonly #host: MirrorHost;
  #leave: (() => void) | undefined;

  /** @param afterSeq what a run that has ended, and has no event behind this one, need not be asked for */
  constructor(
    key: SessionKey,
    invocationId: string,
    remote: RemoteRun,
    afterSeq: number,
    relay: RunRelay,
    host: MirrorHost,
  ) {
    const { firstSeq, lastSeq, end } = remote;
    const isRead = end !== undefined && seqInAttempt(afterSeq, firstSeq) >= lastSeq;
    super(key, invocationId, new RunBuffer(isRead ? lastSeq + 1 : firstSeq));
    this.#relay = relay;
    this.#remote = remote;
    this.#host = host;
    if (isRead) this.ended(end);
  }

  get isUpToDate(): boolean {
    return this.isEnded && this.loss === undefined;
  }

  earlier(afterSeq: number): Iterator<NumberedEvent> | undefined {
    return this.#remote.earlier?.(afterSeq);
  }

  override follow(follower: RunFollower): void {
    super.follow(follower);
    if (this.isEnded || this.#leave) return;
    this.#host.opened(this);
    this.#leave = this.#relay.follow(this.key, this.invocationId, this.buffer.lastSeq, this);
  }

  override unfollow(follower: RunFollower): void {
    super.unfollow(follower);
    if (this.followers.size > 0 || !this.#leave) return;
    this.#leave();
    this.#leave = undefined;
    this.#host.closed(this);
  }

  /** Ends the readers here; the run goes on where it is. */
  abandon(reason: EventloomError): void {
    this.#leave?.();
    if (!this.isEnded) this.end(undefined, reason);
  }

  appended(firstSeq: number, texts: readonly string[]): void {
    let chars = firstSeq === this.buffer.lastSeq + 1 ? 0 : -this.buffer.restartAt(firstSeq);
    for (const text of texts) {
      this.buffer.append(text);
      chars += text.length;
    }
    this.#host.appended(this, chars);
    this.notifyFollowers();
  }

  ended(end: RunEnd): void {
    if (end.kind === 'ended') this.end(end.failureText);
    else this.end(undefined, end.error);
  }
}
