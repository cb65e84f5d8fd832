import type { RelayedRun, RunPublication } from '../runs/run-relay.ts';

/** Characters of one row of chunks; a longer event has a row of its own. */
const ROW_CHARS = 128 * 1024;

/** What is written of a run at once. */
export interface RunWrite {
  readonly published: PublishedRun;
  /** The number of the last event that is in the tables afterwards. */
  readonly lastSeq: number;
  /** The number of the first event that is written; undefined when there is none. */
  readonly firstSeq: number | undefined;
  /** The events, a line each. */
  readonly events: string | undefined;
  /** True when there are more events than go into one row. */
  readonly isFull: boolean;
  /** True when nothing comes behind it. */
  readonly isEnd: boolean;
  readonly isForgotten: boolean;
}

/** A run of this process, and how much of it is in the tables. It keeps no events: what is to be written is in the run's own buffer. */
export class PublishedRun implements RunPublication {
  readonly run: RelayedRun;
  readonly #onNews: (published: PublishedRun) => void;
  readonly #announcement = Promise.withResolvers<void>();
  /** True while the run has a row, as far as is known. */
  isAnnounced = false;
  /** The number of the last event that is in the tables. */
  writtenSeq = 0;
  /** True when somebody follows the run in another process. */
  isFollowed = false;
  /** True when the last write had not room for everything. */
  isBehind = false;
  isForgotten = false;
  /** True when the tables say that it is forgotten. */
  isForgottenThere = false;
  /** True when events were lost that other processes were to be told of. */
  hasGap = false;
  /** True when other processes are not told of the run any more. */
  isDropped = false;

  /** @param onNews told when there is something to be written */
  constructor(run: RelayedRun, onNews: (published: PublishedRun) => void) {
    this.run = run;
    this.#onNews = onNews;
  }

  get announced(): Promise<void> {
    return this.#announcement.promise;
  }

  /** True when the tables do not say what is to be said. */
  get hasNews(): boolean {
    const { buffer, isEnded } = this.run;
    return isEnded || this.isForgotten !== this.isForgottenThere || this.writtenSeq < buffer.lastSeq;
  }

  /** True when what is new is not only further events. */
  get isUrgent(): boolean {
    return !this.isAnnounced || this.isBehind || this.run.isEnded || this.isForgotten !== this.isForgottenThere;
  }

  notify(): void {
    this.#onNews(this);
  }

  forget(): void {
    this.isForgotten = true;
    this.#onNews(this);
  }

  /** The run has a row with everything up to this event. */
  announceFrom(writtenSeq: number): void {
    this.isAnnounced = true;
    this.writtenSeq = writtenSeq;
  }

  /** There was an attempt to give the run a row, or there will be none. */
  settleAnnouncement(): void {
    this.#announcement.resolve();
  }

  nextWrite(): RunWrite {
    const { buffer, isEnded } = this.run;
    const start = Math.max(this.writtenSeq + 1, buffer.firstSeq);
    const texts: string[] = [];
    for (let seq = start, chars = 0; chars < ROW_CHARS; seq++) {
      const text = buffer.at(seq);
      if (text === undefined) break;
      texts.push(text);
      chars += text.length;
    }
    const lastSeq = Math.max(start + texts.length - 1, this.writtenSeq);
    const isFull = lastSeq < buffer.lastSeq;
    return {
      published: this,
      lastSeq,
      firstSeq: texts.length > 0 ? start : undefined,
      events: texts.length > 0 ? texts.join('\n') : undefined,
      isFull,
      isEnd: isEnded && !isFull,
      isForgotten: this.isForgotten,
    };
  }

  /** What was written is in the tables. */
  settleWrite({ lastSeq, isFull, isForgotten }: RunWrite, isFollowed: boolean): void {
    this.writtenSeq = lastSeq;
    this.isBehind = isFull;
    this.isForgottenThere = isForgotten;
    this.isFollowed ||= isFollowed;
  }
}
