import type { EventloomError } from '@eventloom/core';
import { errorBody } from '../http/error-response.ts';
import { SlowReaderError } from '../errors.ts';
import { seqInAttempt } from './attempt-numbers.ts';
import type { FollowedRun, RunFollower } from './followed-run.ts';
import type { RunHost } from './hosted-run.ts';
import type { NumberedEvent } from './run-relay.ts';
import { SSE_HEARTBEAT, sseFrame } from './sse-frame.ts';

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
  readonly #hasEventIds: boolean;
  readonly #host: Pick<RunHost, 'schedule'>;
  readonly #onClose: (reader: RunReader, failure?: unknown) => void;
  readonly #encoder = new TextEncoder();
  /** Undefined once the stream is closed, failed or cancelled: nothing can be written to it any more. */
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  /** The number of the last event that was written. */
  #seq: number;
  /** Events that come before those of the buffer. */
  #earlier: Iterator<NumberedEvent> | undefined;
  /** Set while the connection waits for more than there was. */
  #wanting: (() => void) | undefined;
  /** Set from a write to the end of its tick: events that come meanwhile go into the next write. */
  #cancelGather: (() => void) | undefined;
  #hasWritten = false;
  /** Set while a probe runs: true once the connection has read since. */
  #probed: boolean | undefined;
  #cancelProbe: (() => void) | undefined;
  #missedBeats = 0;

  /**
   * @param afterSeq the number of the last event that this reader has already
   * @param hasEventIds whether frames carry the numbers of their events
   * @param onClose called once, when the stream is closed, failed or cancelled; with the failure when reading the run failed
   * @throws RunEventsGoneError
   */
  constructor(
    run: FollowedRun,
    afterSeq: number,
    hasEventIds: boolean,
    host: Pick<RunHost, 'schedule'>,
    onClose: (reader: RunReader, failure?: unknown) => void,
  ) {
    this.#run = run;
    this.#seq = afterSeq;
    this.#hasEventIds = hasEventIds;
    this.#earlier = run.earlier(afterSeq);
    this.#host = host;
    this.#onClose = onClose;
    this.stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => void this.#close(),
      },
      // Nothing is taken before the connection asks for it: the run's own buffer is the only one.
      { highWaterMark: 0 },
    );
    run.follow(this);
  }

  notify(): void {
    if (!this.#wanting) return;
    if (this.#cancelGather && !this.#run.isEnded) return;
    this.#write();
  }

  /** Sends a heartbeat to a silent connection, and closes one that has not read for `MAX_MISSED_BEATS` beats. */
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
    if (this.#cancelProbe || !this.#controller) return;
    this.#probed = false;
    this.#cancelProbe = this.#host.schedule(PROBE_MS, () => {
      this.#cancelProbe = undefined;
      if (!this.#probed) this.#letGo('the reader took nothing, and others want its place');
      this.#probed = undefined;
    });
    if (this.#wanting) this.#enqueue(SSE_HEARTBEAT);
  }

  /** Writes text that is no event of the run. */
  say(text: string): void {
    this.#enqueue(text);
  }

  #pull(): Promise<void> | undefined {
    if (this.#probed === false) this.#probed = true;
    const run = this.#run;
    if (this.#hasMore && (!this.#cancelGather || run.isEnded) && this.#write()) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wanting = resolve;
    return promise;
  }

  get #hasMore(): boolean {
    const { isEnded, buffer } = this.#run;
    return isEnded || this.#earlier !== undefined || this.#seq < buffer.lastSeq;
  }

  /** Writes what there is, and closes the stream at the end of the run. False when there is nothing. Never throws. */
  #write(): boolean {
    try {
      return this.#writeEvents();
    } catch (error) {
      // Earlier events are read from storage, which can fail. Only this reader ends: its caller is a timer, or the run itself.
      this.#enqueue(sseFrame(JSON.stringify(errorBody(error))));
      this.#close(error)?.close();
      return true;
    }
  }

  #writeEvents(): boolean {
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
      this.#enqueue(sseFrame(JSON.stringify(errorBody(tooSlow(run)))));
      this.#close()?.close();
      return true;
    }
    while (text.length < MAX_WRITE_CHARS) {
      const event = buffer.at(this.#seq + 1);
      if (event === undefined) break;
      text += this.#frame(++this.#seq, event);
    }
    const isLast = run.isEnded && this.#seq >= buffer.lastSeq;
    if (isLast) text += this.#lastWords();
    if (text !== '') this.#enqueue(text);
    if (isLast) this.#close()?.close();
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
        text += this.#frame(next.value.seq, next.value.text);
      }
    }
    return text;
  }

  #lastWords(): string {
    const { failureText, loss, finalSeq } = this.#run;
    if (failureText !== undefined && this.#seq < finalSeq) return this.#frame(++this.#seq, failureText);
    // The loss of a run is no event of it: it has no number, so that a client that connects again does not skip an event.
    return loss ? sseFrame(JSON.stringify(errorBody(loss))) : '';
  }

  #frame(seq: number, json: string): string {
    return this.#hasEventIds ? sseFrame(json, seq) : sseFrame(json);
  }

  #gather(): void {
    this.#cancelGather = this.#host.schedule(0, () => {
      this.#cancelGather = undefined;
      if (this.#wanting && this.#hasMore) this.#write();
    });
  }

  #enqueue(text: string): void {
    if (!this.#controller) return;
    this.#hasWritten = true;
    this.#controller.enqueue(this.#encoder.encode(text));
    this.#wanting?.();
    this.#wanting = undefined;
  }

  #letGo(why: string): void {
    this.#close()?.error(new SlowReaderError(why));
  }

  /**
   * Ends this reader: it follows the run no longer, none of its timers is pending, and nothing can be written. It gives the controller,
   * once, to the caller that closes the stream or makes it fail; a stream that was cancelled is closed already.
   */
  #close(failure?: unknown): ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined {
    const controller = this.#controller;
    if (!controller) return undefined;
    this.#controller = undefined;
    this.#cancelGather?.();
    this.#cancelProbe?.();
    this.#wanting?.();
    this.#wanting = undefined;
    this.#run.unfollow(this);
    this.#onClose(this, failure);
    return controller;
  }
}

function tooSlow({ invocationId, buffer, key, isEnded }: FollowedRun): EventloomError {
  return new SlowReaderError(
    `this connection fell behind the run ${invocationId}, whose oldest kept event is number ${buffer.firstSeq}; ` +
      `${isEnded ? 'the run has ended' : 'the run goes on'}: read session ${JSON.stringify(key.sessionId)} for what was missed`,
  );
}
