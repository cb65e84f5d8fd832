import type { Platform } from '@eventloom/core';
import type { ErrorBody } from '@eventloom/core/wire';
import { RunGoesOnError, SlowReaderError } from '../errors.ts';
import { errorBody } from '../http/error-response.ts';
import { encodeFrames, type FrameEncoder, runPath, SSE_HEARTBEAT, SSE_RETRY } from '../http/responses.ts';
import { LARGE_CHARS, LargeText, MAX_WRITE_CHARS } from './large-text.ts';
import { formatPosition, type RunLog } from './run-log.ts';
import type { RunReaders } from './run-readers.ts';
import type { RunFrame } from './run-relay.ts';

/** Number of heartbeats that a reader may leave unread before it is disconnected. */
const MAX_MISSED_BEATS = 2;
/** Time without a read after which a reader is disconnected when the limit of readers is reached. */
const PROBE_MS = 1000;

/** Stored events before the frames of a log, page by page. */
export interface EarlierFrames {
  /** The first page, if it was read already. */
  readonly first?: readonly RunFrame[] | undefined | void;
  readonly pages: AsyncIterator<readonly RunFrame[]>;
  /** The position after which the log continues. */
  readonly untilPosition: number;
}

/**
 * One connection that reads a log as server-sent events. It has a position and no frames: a slow reader falls behind
 * until its next frame was dropped, and is then disconnected with a reason. Only a large text, which is written in parts, stays in memory
 * until the connection has taken it; it counts as a response that the user's clients have not read.
 *
 * The first frame is written at once; further frames of the same tick are joined into one write.
 */
export class RunReader {
  /** The bytes of the response. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /**
   * The log that is read. Undefined once the stream is closed, so that a connection that never takes its last bytes
   * keeps no events in memory.
   */
  #log: RunLog | undefined;
  readonly #readers: RunReaders;
  readonly #platform: Platform;
  readonly #frames: FrameEncoder;
  readonly #encoder = new TextEncoder();
  /** The position of the last frame that was written; undefined for the beginning of the log. */
  #position: number | undefined;
  #earlier: EarlierFrames | undefined;
  #first: readonly RunFrame[] | undefined;
  /** The controller of the stream. Undefined once the stream is closed, failed or cancelled: nothing can be written any more. */
  #controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  /** Continues the connection that waits for further frames; undefined if none waits. */
  #onMore: (() => void) | undefined;
  /** True from a write to the end of its tick: frames that arrive in between are joined into the next write. */
  isGathering = false;
  /** The large text that is being written. */
  #large: LargeText | undefined;
  #hasWritten = false;
  #missedBeats = 0;
  /** Set while a probe runs: true once the connection has read since. */
  #probed: boolean | undefined;
  #cancelProbe: (() => void) | undefined;
  /** Set while a disconnected client has not read the reason. */
  #leaving: LeavingConnection | undefined;

  /**
   * @param position position of the last frame that this reader has
   * @param frames writes the frames in the reader's own format
   * @param earlier stored events that this reader gets before the frames of the log
   */
  constructor(
    readers: RunReaders,
    platform: Platform,
    log: RunLog,
    position: number | undefined,
    frames: FrameEncoder,
    earlier?: EarlierFrames,
  ) {
    this.#readers = readers;
    this.#platform = platform;
    this.#log = log;
    this.#position = position;
    this.#frames = frames;
    this.#earlier = earlier;
    this.#first = earlier?.first ?? undefined;
    // Nothing is read before the connection asks for it, so the log is the only buffer.
    this.stream = new ReadableStream<Uint8Array<ArrayBuffer>>(this, { highWaterMark: 0 });
    log.readers.add(this);
  }

  /** Called by the stream when it is created. */
  start(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void {
    this.#controller = controller;
  }

  /** Called by the stream when the connection is closed by the client. */
  cancel(): void {
    this.#leaving?.cancelCut();
    this.#leaving = undefined;
    this.#close();
  }

  /** Writes new frames if the connection waits for them. */
  notify(): void {
    if (this.#onMore && this.#log && (!this.isGathering || this.#log.end)) this.#write(this.#log);
  }

  /** Sends a heartbeat to a silent connection, and closes a connection that has not read for `MAX_MISSED_BEATS` heartbeats. */
  beat(): void {
    if (this.#hasWritten) {
      this.#hasWritten = false;
      this.#missedBeats = 0;
    } else if (this.#onMore) {
      this.#missedBeats = 0;
      this.say(SSE_HEARTBEAT);
      this.#hasWritten = false;
    } else if (++this.#missedBeats >= MAX_MISSED_BEATS) {
      this.#disconnect('the client read nothing for too long and was disconnected; follow the run again');
    }
  }

  /** Disconnects this reader soon unless it reads, because other readers need its place. */
  probe(): void {
    if (this.#cancelProbe || !this.#controller) return;
    this.#probed = false;
    this.#cancelProbe = this.#platform.schedule(PROBE_MS, () => {
      this.#cancelProbe = undefined;
      if (!this.#probed)
        this.#disconnect(
          'the client read nothing and was disconnected, because another client needs its connection; follow the run again',
        );
      this.#probed = undefined;
    });
    if (this.#onMore) this.say(SSE_HEARTBEAT);
  }

  /**
   * Writes a text: frames of the log, a heartbeat or a comment. The parts of a large text are written as the connection
   * takes them. Ends the connection if the user has no room for it.
   */
  say(text: string): void {
    if (this.#large) return this.#large.add(text);
    if (this.#log && text.length > LARGE_CHARS) {
      try {
        this.#large = new LargeText(text, this.#readers.hold(this.#log.key.userId, text.length));
        return this.#writePart(this.#large);
      } catch (error) {
        this.#sayLast(error);
        this.#close()?.close();
      }
    }
    this.#enqueue(text);
  }

  #writePart(large: LargeText): void {
    const { part, isLast } = large.next();
    if (isLast) this.#large = undefined;
    this.#enqueue(part);
  }

  #enqueue(text: string): void {
    if (!this.#controller) return;
    this.#hasWritten = true;
    this.#controller.enqueue(this.#encoder.encode(text));
    this.#onMore?.();
    this.#onMore = undefined;
  }

  /** Called by the stream when the connection can take more. */
  pull(): Promise<void> | undefined {
    if (this.#leaving) return this.#leave(this.#leaving);
    if (this.#probed === false) this.#probed = true;
    if (this.#large) {
      this.#writePart(this.#large);
      return undefined;
    }
    const log = this.#log;
    if (this.#earlier && log) return this.#pullEarlier(log, this.#earlier);
    if (!log || ((log.end || !this.isGathering) && this.#write(log))) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onMore = resolve;
    return promise;
  }

  async #pullEarlier(log: RunLog, { pages, untilPosition }: EarlierFrames): Promise<void> {
    const { userId } = log.key;
    let frames: readonly RunFrame[] | undefined = this.#first || undefined;
    this.#first = undefined;
    try {
      frames ??= (await this.#readers.nextPage(userId, pages)).value || undefined;
    } catch (error) {
      // Only this reader ends, because the run does not depend on it.
      this.#sayLast(error);
      this.#close(error)?.close();
      return;
    }
    if (!this.#controller) return;
    if (frames) {
      // If the protocol omits all frames of a page, the next page is read.
      if (!this.#encodeAndSay(() => encodeFrames(frames, this.#frames))) await this.pull();
      return;
    }
    this.#earlier = undefined;
    this.#position = Math.max(this.#position ?? 0, untilPosition);
    await this.pull();
  }

  /** Writes the available frames, and closes the stream at the end of the log. Returns false if there are none. */
  #write(log: RunLog): boolean {
    const position = this.#position ?? log.beginPosition;
    if (position < log.gonePosition) {
      this.#sayLast(tooSlow(log));
      this.#close()?.close();
      return true;
    }
    let text = '';
    let isLast: boolean;
    try {
      for (const frame of log.framesAfter(position, MAX_WRITE_CHARS)) {
        text += this.#frames.encode(frame.json, frame.position);
        this.#position = frame.position;
      }
      const { end } = log;
      const isAtEnd = end !== undefined && (this.#position ?? position) >= log.lastPosition;
      isLast = isAtEnd && text.length <= MAX_WRITE_CHARS;
      // The reason is not a frame of the run. It has no number, so a client that reconnects skips no frame.
      if (isLast && end?.kind === 'left') text += SSE_RETRY + this.#ending(end.failure, addressOf(log, end.failure));
      else if (isLast) text += this.#frames.end ?? '';
    } catch (error) {
      this.#cut(error);
      return true;
    }
    if (text !== '') this.say(text);
    if (isLast) this.#close()?.close();
    else if (text !== '') this.#readers.gather(this);
    return isLast || text !== '';
  }

  /**
   * Ends a connection with an error because the encoder of its protocol threw. The run and its other readers continue.
   * The message is neutral, because the HTTP server may write it to the client.
   */
  #cut(error: unknown): void {
    const cut = cutError(errorBody(error).error);
    causesOfCuts.set(cut, error);
    this.#close(error)?.error(cut);
  }

  /** Writes the text that the encoder returns. Returns false if it is empty. */
  #encodeAndSay(encode: () => string): boolean {
    let text: string;
    try {
      text = encode();
    } catch (error) {
      this.#cut(error);
      return true;
    }
    if (text !== '') this.say(text);
    return text !== '';
  }

  #sayLast(error: unknown): void {
    this.#encodeAndSay(() => this.#ending(error));
  }

  /** Returns the last text of a stream that ends before its run. It is not a frame of the run and has no position. */
  #ending(error: unknown, more: Pick<ErrorBody, 'run'> = {}): string {
    return this.#frames.encode(JSON.stringify({ ...errorBody(error), ...more }), undefined) + (this.#frames.end ?? '');
  }

  #disconnect(why: string): void {
    // The client has a part of an event.
    if (this.#large) return this.#close()?.error(cutError(why));
    this.#sayLast(new SlowReaderError(why));
    const controller = this.#close();
    if (!controller) return;
    // The reason is queued for a connection that may never read again, and that is then ended with an error. Some
    // runtimes cannot do that with a closed stream, so the stream is closed later.
    const cut = (): void => {
      this.#leaving = undefined;
      controller.error(cutError(why));
    };
    this.#leaving = { controller, cancelCut: this.#platform.schedule(this.#readers.heartbeatMs, cut, { idle: true }) };
  }

  /** Closes the stream of a disconnected client that has read the reason. */
  #leave({ controller, cancelCut }: LeavingConnection): undefined {
    this.#leaving = undefined;
    cancelCut();
    controller.close();
  }

  /**
   * Ends this reader: it gets no more frames, none of its timers is pending, and nothing can be written. Returns the
   * controller, once, to the caller that closes the stream or ends it with an error; undefined for a cancelled stream,
   * which is closed already.
   */
  #close(failure?: unknown): ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined {
    const controller = this.#controller;
    if (!controller) return undefined;
    const log = this.#log;
    this.#controller = undefined;
    this.#large?.drop();
    this.#large = undefined;
    this.#log = undefined;
    this.#earlier = undefined;
    this.#first = undefined;
    this.#cancelProbe?.();
    this.#onMore?.();
    this.#onMore = undefined;
    if (log) this.#readers.closed(this, log, failure);
    return controller;
  }
}

/** Returns the address of a run that continues, for the error that ends its stream. */
function addressOf({ key, invocationId }: RunLog, reason: Error): Pick<ErrorBody, 'run'> {
  return RunGoesOnError.isInstance(reason) ? { run: runPath(key, invocationId) } : {};
}

/**
 * Creates the error that ends a stream early. It has no stack, because the HTTP server of Node would print it, and the cause was already
 * reported.
 */
export function cutError(why: string): Error {
  const error = new Error(why);
  error.stack = `a stream was cut: ${why}`;
  return error;
}

/** The errors of encoders, by the errors that ended their streams, which do not have them as `cause` for the same reason. */
export const causesOfCuts: WeakMap<object, unknown> = new WeakMap();

/** A connection that is closed when its client reads again, and otherwise ended with an error. */
interface LeavingConnection {
  readonly controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  readonly cancelCut: () => void;
}

function tooSlow({ invocationId, gonePosition, key }: RunLog): SlowReaderError {
  return new SlowReaderError(
    `this connection is too slow for the run ${invocationId}, whose frames up to ${formatPosition(gonePosition)} are no longer kept; ` +
      `read session ${JSON.stringify(key.sessionId)} for the missed events, or follow the run again`,
  );
}
