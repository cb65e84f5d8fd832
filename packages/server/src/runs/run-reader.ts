import type { Platform } from '@eventloom/core';
import type { ErrorBody } from '@eventloom/core/wire';
import { RunGoesOnError, SlowReaderError } from '../errors.ts';
import { errorBody } from '../http/error-response.ts';
import { runPath } from '../http/responses.ts';
import type { RequestQuota } from '../http/user-quotas.ts';
import { MAX_WRITE_CHARS } from './large-text.ts';
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

/** The form in which a reader gets the frames of a run: the body of a response (`SseFormat`), or the frames (`FRAMES`). */
export interface RunFormat<Body> {
  /** Returns all frames of a run that has ended. */
  whole(frames: readonly RunFrame[]): Body;
  /** Returns a stream that the reader fills: it gives the reader a sink, and passes on when the client reads or leaves. */
  open(reader: RunReader): Body;
}

/** The end of a stream: that of the run, or an error that is not a frame of the run. */
export interface StreamEnd {
  readonly error?: ErrorBody | undefined;
  /** True if the run continues, so that the client is to reconnect. Default false. */
  readonly reconnects?: boolean | undefined;
}

/** The stream to which a reader sends. Nothing is sent after `close` or `fail`. */
export interface RunSink {
  /**
   * Sends frames, and the end of the stream, unless the frames are so many that the client has to read them first.
   * @returns `nothing` if there are no frames, or the protocol omits all of them; `ended` if the end was sent
   */
  send(frames: readonly RunFrame[], end?: StreamEnd): 'nothing' | 'sent' | 'ended';
  sendHeartbeat(): void;
  /** Asks the client to reconnect when the stream ends. */
  sendRetry(): void;
  /** True while a large text is sent in parts. */
  readonly hasParts: boolean;
  /** Sends the next part of a large text. Returns false if there is none. */
  sendPart(): boolean;
  /** Drops the parts that are not sent. */
  release(): void;
  close(): void;
  fail(error: Error): void;
}

/**
 * One connection that reads a log. It has a position and no frames: a slow reader falls behind until its next frame was dropped, and is
 * then disconnected with a reason. Only a large text, which is written in parts, stays in memory until the connection has taken it; it
 * counts as a response that the user's clients have not read.
 *
 * The first frame is written at once; further frames of the same tick are joined into one write.
 *
 * | state | field | when the client reads (`pull`) | when frames come (`notify`) | at a heartbeat |
 * |---|---|---|---|---|
 * | earlier events | `#earlier` | the next page is sent | | counts as missed, without a read |
 * | behind | none | the frames after `#position` are sent, or it waits | | counts as missed, without a read |
 * | waiting | `#onMore` | | they are sent | a heartbeat is sent |
 * | gathering | `isGathering` | it waits | they are sent at the end of the tick, or of the log | as before |
 * | large text | `#sink.hasParts` | the next part is sent | | counts as missed, without a read |
 * | leaving | `#leaving` | the stream is closed | | |
 * | closed | no `#sink` | | | |
 *
 * After `MAX_MISSED_BEATS`, or a probe that the client does not answer, a reader is leaving; after `limits.heartbeatMs` its stream fails.
 */
export class RunReader {
  /**
   * The log that is read. Undefined once the stream is closed, so that a connection that never takes its last bytes
   * keeps no events in memory.
   */
  #log: RunLog | undefined;
  readonly #readers: RunReaders;
  readonly #platform: Platform;
  /** The position of the last frame that was written; undefined for the beginning of the log. */
  #position: number | undefined;
  #earlier: EarlierFrames | undefined;
  #first: readonly RunFrame[] | undefined;
  /** Undefined before the stream is opened, and once it is closed, failed or cancelled: nothing can be sent then. */
  #sink: RunSink | undefined;
  /** Continues the connection that waits for further frames; undefined if none waits. */
  #onMore: (() => void) | undefined;
  /** True from a write to the end of its tick: frames that arrive in between are joined into the next write. */
  isGathering = false;
  #hasWritten = false;
  #missedBeats = 0;
  /** Set while a probe runs: true once the connection has read since. */
  #probed: boolean | undefined;
  #cancelProbe: (() => void) | undefined;
  /** Set while a disconnected client has not read the reason. */
  #leaving: LeavingConnection | undefined;

  /**
   * @param position position of the last frame that this reader has
   * @param earlier stored events that this reader gets before the frames of the log
   */
  constructor(
    readers: RunReaders,
    platform: Platform,
    log: RunLog,
    position: number | undefined,
    earlier?: EarlierFrames,
  ) {
    this.#readers = readers;
    this.#platform = platform;
    this.#log = log;
    this.#position = position;
    this.#earlier = earlier;
    this.#first = earlier?.first ?? undefined;
    log.readers.add(this);
  }

  /** Called by the stream when it is created. */
  start(sink: RunSink): void {
    this.#sink = sink;
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
      this.#sendHeartbeat();
      this.#hasWritten = false;
    } else if (++this.#missedBeats >= MAX_MISSED_BEATS) {
      this.#disconnect('the client read nothing for too long and was disconnected; follow the run again');
    }
  }

  /** Disconnects this reader soon unless it reads, because other readers need its place. */
  probe(): void {
    if (this.#cancelProbe || !this.#sink) return;
    this.#probed = false;
    this.#cancelProbe = this.#platform.schedule(PROBE_MS, () => {
      this.#cancelProbe = undefined;
      if (!this.#probed)
        this.#disconnect(
          'the client read nothing and was disconnected, because another client needs its connection; follow the run again',
        );
      this.#probed = undefined;
    });
    if (this.#onMore) this.#sendHeartbeat();
  }

  #sendHeartbeat(): void {
    this.#sink?.sendHeartbeat();
    this.#noteWritten();
  }

  /** Asks the client to reconnect, so that it reaches another process. */
  askToReconnect(): void {
    this.#sink?.sendRetry();
    this.#noteWritten();
  }

  #noteWritten(): void {
    this.#hasWritten = true;
    this.#onMore?.();
    this.#onMore = undefined;
  }

  /** Counts a large text until it is released. @throws SlowReaderError if the user has no room for it */
  holdChars(chars: number): Pick<RequestQuota, 'release'> | undefined {
    return this.#log && this.#readers.hold(this.#log.key.userId, chars);
  }

  /** Called by the stream when the connection can take more. */
  pull(): Promise<void> | undefined {
    if (this.#leaving) return this.#leave(this.#leaving);
    if (this.#probed === false) this.#probed = true;
    if (this.#sink?.sendPart()) {
      this.#hasWritten = true;
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
      this.#send([], { error: errorBody(error) });
      this.#close(error)?.close();
      return;
    }
    if (!this.#sink) return;
    if (frames) {
      // If the protocol omits all frames of a page, the next page is read.
      if (this.#send(frames) === 'nothing') await this.pull();
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
      this.#end(tooSlow(log));
      return true;
    }
    const frames = log.framesAfter(position, MAX_WRITE_CHARS);
    this.#position = frames.at(-1)?.position ?? this.#position;
    const isAtEnd = log.end && (this.#position ?? position) >= log.lastPosition;
    const sent = this.#send(frames, isAtEnd ? endOf(log) : undefined);
    if (sent === 'ended') this.#close()?.close();
    else if (sent === 'sent') this.#readers.gather(this);
    return sent !== 'nothing';
  }

  /** Sends frames: see `RunSink.send`. If that fails, the stream is closed. */
  #send(frames: readonly RunFrame[], end?: StreamEnd): 'nothing' | 'sent' | 'ended' {
    try {
      const sent = this.#sink?.send(frames, end) ?? 'ended';
      if (sent !== 'nothing') this.#noteWritten();
      return sent;
    } catch (error) {
      if (SlowReaderError.isInstance(error)) this.#end(error);
      else this.#cut(error);
      return 'ended';
    }
  }

  /** Ends the stream with an error that is not a frame of the run. */
  #end(error: Error): void {
    this.#send([], { error: errorBody(error) });
    this.#close()?.close();
  }

  /**
   * Ends a connection with an error because the encoder of its protocol threw. The run and its other readers continue.
   * The message is neutral, because the HTTP server may write it to the client.
   */
  #cut(error: unknown): void {
    const cut = cutError(errorBody(error).error);
    causesOfCuts.set(cut, error);
    this.#close(error)?.fail(cut);
  }

  #disconnect(why: string): void {
    // The client has a part of an event.
    if (this.#sink?.hasParts) return this.#close()?.fail(cutError(why));
    this.#send([], { error: errorBody(new SlowReaderError(why)) });
    const sink = this.#close();
    if (!sink) return;
    // The reason is queued for a connection that may never read again, and that is then ended with an error. Some
    // runtimes cannot do that with a closed stream, so the stream is closed later.
    const cut = (): void => {
      this.#leaving = undefined;
      sink.fail(cutError(why));
    };
    this.#leaving = { sink, cancelCut: this.#platform.schedule(this.#readers.heartbeatMs, cut, { idle: true }) };
  }

  /** Closes the stream of a disconnected client that has read the reason. */
  #leave({ sink, cancelCut }: LeavingConnection): undefined {
    this.#leaving = undefined;
    cancelCut();
    sink.close();
  }

  /**
   * Ends this reader: it gets no more frames, none of its timers is pending, and nothing can be written. Returns the
   * sink, once, to the caller that closes the stream or ends it with an error; undefined for a cancelled stream,
   * which is closed already.
   */
  #close(failure?: unknown): RunSink | undefined {
    const sink = this.#sink;
    if (!sink) return undefined;
    const log = this.#log;
    this.#sink = undefined;
    sink.release();
    this.#log = undefined;
    this.#earlier = undefined;
    this.#first = undefined;
    this.#cancelProbe?.();
    this.#onMore?.();
    this.#onMore = undefined;
    if (log) this.#readers.closed(this, log, failure);
    return sink;
  }
}

/** Returns the end of the stream of a log that has ended. A run that continues has an error, which is not one of its frames. */
function endOf({ key, invocationId, end }: RunLog): StreamEnd {
  if (end?.kind !== 'continues') return {};
  const run = RunGoesOnError.isInstance(end.failure) ? { run: runPath(key, invocationId) } : {};
  return { error: { ...errorBody(end.failure), ...run }, reconnects: true };
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
  readonly sink: RunSink;
  readonly cancelCut: () => void;
}

function tooSlow({ invocationId, gonePosition, key }: RunLog): SlowReaderError {
  return new SlowReaderError(
    `this connection is too slow for the run ${invocationId}, whose frames up to ${formatPosition(gonePosition)} are no longer kept; ` +
      `read session ${JSON.stringify(key.sessionId)} for the missed events, or follow the run again`,
  );
}
