import type { SessionKey } from '@eventloom/core';
import type { RelayedLog, RunPublication } from '../runs/run-relay.ts';

/** Returns the key of a run in the tables. The key includes the session, because imported sessions may have runs with the same ids. */
export function runKeyOf({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName.length}.${userId.length}.${sessionId.length} ${appName}${userId}${sessionId}${invocationId}`;
}

/** Maximum number of characters of one row of chunks; a longer event has its own row. */
const ROW_CHARS = 128 * 1024;

/** The part of a run that one statement writes. */
export interface RunWrite {
  readonly published: PublishedRun;
  /** Positions of the last frame in the tables before and after the write. */
  readonly afterPosition: number;
  readonly lastPosition: number;
  /** The frames, one line for each, with its position. */
  readonly frames: string | undefined;
  /** True if more frames are waiting than fit into one row. */
  readonly isFull: boolean;
  /** True for the last batch of the run. */
  readonly isEnd: boolean;
  readonly isForgotten: boolean;
}

/** A run of this process, and the position up to which it is in the tables. The frames are in the run's log, not in this object. */
export class PublishedRun implements RunPublication {
  readonly log: RelayedLog;
  readonly runKey: string;
  readonly #onNews: (published: PublishedRun) => void;
  readonly #announcement = Promise.withResolvers<void>();
  /** True while the run has a row, as far as this process knows. */
  isAnnounced = false;
  /** The position of the last frame that is in the tables. */
  writtenPosition = 0;
  /** True if another process follows the run. */
  isFollowed = false;
  /** True if the last write could not take all frames. */
  #hasMoreFrames = false;
  isForgotten = false;
  /** True if the run is marked in the tables as forgotten. */
  #isForgottenThere = false;
  /** True if frames were lost before they were published. */
  hasGap = false;
  /** True if the run is no longer published. */
  isDropped = false;

  /** @param onNews called when there is something to write */
  constructor(log: RelayedLog, onNews: (published: PublishedRun) => void) {
    this.log = log;
    this.runKey = runKeyOf(log.key, log.invocationId);
    this.#onNews = onNews;
  }

  get announced(): Promise<void> {
    return this.#announcement.promise;
  }

  /** True if the tables lack frames or the end of the run. */
  get hasNews(): boolean {
    const { lastPosition, isEnded } = this.log;
    return isEnded || this.isForgotten !== this.#isForgottenThere || this.writtenPosition < lastPosition;
  }

  /** True if there is news other than further frames. */
  get isUrgent(): boolean {
    return !this.isAnnounced || this.#hasMoreFrames || this.log.isEnded || this.isForgotten !== this.#isForgottenThere;
  }

  notify(): void {
    this.#onNews(this);
  }

  forget(): void {
    this.isForgotten = true;
    this.#onNews(this);
  }

  /** Records that the run has a row with all frames up to this position. */
  announceFrom(writtenPosition: number): void {
    this.isAnnounced = true;
    this.writtenPosition = writtenPosition;
  }

  /** Called once the relay has tried to write the run's row, or will not try. */
  settleAnnouncement(): void {
    this.#announcement.resolve();
  }

  nextWrite(): RunWrite {
    const { gonePosition, lastPosition: newestPosition, isEnded } = this.log;
    const afterPosition = Math.max(this.writtenPosition, gonePosition);
    const frames = this.log.framesAfter(afterPosition, ROW_CHARS);
    const lastPosition = frames.at(-1)?.position ?? afterPosition;
    const isFull = lastPosition < newestPosition;
    return {
      published: this,
      afterPosition,
      lastPosition,
      frames: frames.length > 0 ? frames.map(({ position, json }) => `${position} ${json}`).join('\n') : undefined,
      isFull,
      isEnd: isEnded && !isFull,
      isForgotten: this.isForgotten,
    };
  }

  /** Records that the batch is in the tables. */
  settleWrite({ lastPosition, isFull, isForgotten }: RunWrite, isFollowed: boolean): void {
    this.writtenPosition = lastPosition;
    this.#hasMoreFrames = isFull;
    this.#isForgottenThere = isForgotten;
    this.isFollowed ||= isFollowed;
  }
}
