import type { EventloomError } from '@eventloom/core';
import { errorBody } from '../http/error-body.ts';
import { SlowReaderError } from '../errors.ts';
import { seqInAttempt } from './attempt-numbers.ts';
import type { FollowedRun, RunFollower } from './followed-run.ts';
import type { RunHost } from './hosted-run.ts';
import type { NumberedEvent } from './run-relay.ts';
import { SSE_HEARTBEAT, sseFrame, sseNotice } from './sse-frame.ts';

/** Characters of one write: what a reader that stops reading leaves behind in memory. */
const MAX_WRITE_CHARS = 64 * 1024;
/** Heartbeats that a reader may leave unread before it is let go. */
const MAX_MISSED_BEATS = 2;
/** How long a reader whose place others want may take nothing. */
const PROBE_MS = 1000;

/**
 * One connection that reads a run as server-sent events. It keeps no events of its own, only its place among the run's: a
 * reader that is slow falls behind until what it would need next is gone, and is then let go with a reason.
 *
 * What comes at once is written at once; what follows in the same tick is gathered into one write.
 */
export class RunReader implements RunFollower {
  /** The bytes to send. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #run: FollowedRun;
  readonly #host: Pick<RunHost, 'schedule'>;
  readonly #onClose: (reader: RunReader) => void;
  readonly #encoder = new TextEncoder();
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  /** The number of the last event that was written. */
  #seq: number;
  /** What comes before the events of the buffer. */
  #earlier: Iterator<NumberedEvent> | undefined;
  /** Set while the connection wants more than there was. */
  #wanting: (() => void) | undefined;
  /** True from a write to the end of its tick: what comes meanwhile waits. */
  #isGathering = false;
  #hasWritten = false;
  /** Set while it is looked whether the connection goes on reading: true when it did. */
  #probed: boolean | undefined;
  #missedBeats = 0;
  #isClosed = false;

  /** @param afterSeq the number of the last event that this reader has already @throws RunEventsGoneError */
  constructor(
    run: FollowedRun,
    afterSeq: number,
    host: Pick<RunHost, 'schedule'>,
    onClose: (reader: RunReader) => void,
  ) {
    this.#run = run;
    this.#seq = afterSeq;
    this.#earlier = run.earlier(afterSeq);
    this.#host = host;
    this.#onClose = onClose;
    this.stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#detach(),
      },
      // Nothing is taken before the connection asks for it: the run's own buffer is the only one.
      { highWaterMark: 0 },
    );
    run.follow(this);
  }

  notify(): void {
    if (!this.#wanting) return;
    if (this.#isGathering && !this.#run.isEnded) return;
    this.#write();
  }

  /** Says that the connection lives, and finds out whether it does. */
  beat(): void {
    if (this.#hasWritten) {
      this.#hasWritten = false;
      this.#missedBeats = 0;
    } else if (this.#wanting) {
      this.#missedBeats = 0;
      this.#enqueue(SSE_HEARTBEAT);
      this.#hasWritten = false;
    } else if (++this.#missedBeats >= MAX_MISSED_BEATS) {
      this.#letGo('the reader took nothing for so long that it was let go');
    }
  }

  probe(): void {
    if (this.#probed !== undefined) return;
    this.#probed = false;
    if (this.#wanting) this.#enqueue(SSE_HEARTBEAT);
    this.#host.schedule(PROBE_MS, () => {
      if (!this.#probed && !this.#isClosed) this.#letGo('the reader took nothing, and others want its place');
      this.#probed = undefined;
    });
  }

  /** Says something that is no event of the run. */
  say(text: string): void {
    if (!this.#isClosed) this.#enqueue(text);
  }

  #pull(): Promise<void> | undefined {
    if (this.#probed === false) this.#probed = true;
    const run = this.#run;
    if (this.#hasMore && (!this.#isGathering || run.isEnded) && this.#write()) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanting = resolve;
    return promise;
  }

  get #hasMore(): boolean {
    const { isEnded, buffer } = this.#run;
    return isEnded || this.#earlier !== undefined || this.#seq < buffer.lastSeq;
  }

  /** Writes what there is, and ends with the run. False when there is nothing. */
  #write(): boolean {
    const run = this.#run;
    const { buffer } = run;
    let text = this.#earlierText();
    if (this.#earlier) {
      this.#enqueue(text);
      this.#gather();
      return true;
    }
    this.#seq = seqInAttempt(this.#seq, buffer.firstSeq);
    if (!buffer.hasAllAfter(this.#seq)) {
      this.#enqueue(sseNotice(JSON.stringify(errorBody(tooSlow(run)))));
      this.#finish();
      return true;
    }
    while (text.length < MAX_WRITE_CHARS) {
      const event = buffer.at(this.#seq + 1);
      if (event === undefined) break;
      text += sseFrame(++this.#seq, event);
    }
    const isLast = run.isEnded && this.#seq >= buffer.lastSeq;
    if (isLast) text += this.#lastWords();
    if (text !== '') this.#enqueue(text);
    if (isLast) this.#finish();
    else this.#gather();
    return isLast || text !== '';
  }

  #earlierText(): string {
    let text = '';
    while (this.#earlier && text.length < MAX_WRITE_CHARS) {
      const next = this.#earlier.next();
      if (next.done === true) {
        this.#earlier = undefined;
      } else {
        this.#seq = next.value.seq;
        text += sseFrame(next.value.seq, next.value.text);
      }
    }
    return text;
  }

  #lastWords(): string {
    const { failureText, loss, finalSeq } = this.#run;
    if (failureText !== undefined && this.#seq < finalSeq) return sseFrame(++this.#seq, failureText);
    return loss ? sseNotice(JSON.stringify(errorBody(loss))) : '';
  }

  #gather(): void {
    this.#isGathering = true;
    this.#host.schedule(0, () => {
      this.#isGathering = false;
      if (this.#wanting && this.#hasMore) this.#write();
    });
  }

  #enqueue(text: string): void {
    this.#hasWritten = true;
    this.#controller?.enqueue(this.#encoder.encode(text));
    this.#wanting?.();
    this.#wanting = undefined;
  }

  #finish(): void {
    this.#detach();
    this.#controller?.close();
    this.#wanting?.();
    this.#wanting = undefined;
  }

  #letGo(why: string): void {
    this.#detach();
    this.#controller?.error(new SlowReaderError(why));
  }

  #detach(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#run.unfollow(this);
    this.#onClose(this);
  }
}

function tooSlow({ invocationId, buffer, key, isEnded }: FollowedRun): EventloomError {
  return new SlowReaderError(
    `this connection fell behind the run ${invocationId}, whose oldest kept event is number ${buffer.firstSeq}; ` +
      `${isEnded ? 'the run has ended' : 'the run goes on'}: read session ${JSON.stringify(key.sessionId)} for what was missed`,
  );
}
