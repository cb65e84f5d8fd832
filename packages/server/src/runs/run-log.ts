import { type Event, type EventloomError, InvalidRequestError, serializeEvent, type SessionKey } from '@eventloom/core';
import { ChunkWriter, EPOCH_CYCLE, isBookkeeping } from '@eventloom/core/internal';
import { errorBody } from '../http/error-response.ts';
import { quotedName } from '../http/request-body.ts';
import type { RunMemory } from './run-memory.ts';
import type { RunReader } from './run-reader.ts';
import type { RelayedLog, RunFrame, RunPublication } from './run-relay.ts';

/** Parameters of a `RunLog`. */
interface RunLogParams {
  readonly key: SessionKey;
  readonly invocationId: string;
  /** True for a log whose frames come from the session or from another process, and not from a run of this process. Default false. */
  readonly isCopy?: boolean | undefined;
  /** The id of the request that began the run, or continued it here, if the caller gave one. */
  readonly requestId?: string | undefined;
}

/** The end of a log. */
export type LogEnd =
  /** The run completed in this process. */
  | { readonly kind: 'completed'; readonly failure?: undefined }
  /** The run failed or was aborted after its message was stored. The last frame has the failure. */
  | { readonly kind: 'failed'; readonly failure: Error }
  /** The frames of the end are copies, from the session or from another process. `failure`: why this process stopped the run. */
  | { readonly kind: 'copied'; readonly failure?: Error | undefined }
  /** The run continues in another process, or later. The failure is not a frame, because the run has further events. */
  | { readonly kind: 'continues'; readonly failure: EventloomError }
  /** The session was deleted during the run. */
  | { readonly kind: 'deleted'; readonly failure: Error }
  /** The run ended before its message was stored. After a StorageError the message may be stored nevertheless. */
  | { readonly kind: 'refused'; readonly failure: Error };

/** Number of dropped frames after which the list is shortened. */
const COMPACT_AT = 1024;

/**
 * The frames of one run in the order of their positions: one writer, any number of readers, each at its own pace. A reader only has a
 * position, so a slow reader uses no memory and never delays the run. The oldest frames can be dropped. An event is serialised once. The
 * writer is an `ActiveRun` for a run of this process, and a `RunMirror` for one of another process.
 *
 * Others assign these fields: the hub `invocationId`, `attempt` and `publication`, readers `wasRead`, the follower `attempt` and
 * `stopMirroring`. All other fields are read-only for them.
 */
export class RunLog implements RelayedLog {
  readonly key: SessionKey;
  invocationId: string;
  readonly requestId: string | undefined;
  /** True for a copy of frames of the session or of another process, false for the log of a run of this process. */
  readonly isCopy: boolean;
  readonly readers: Set<RunReader> = new Set();
  attempt = 0;
  /** Undefined while the log may get frames. */
  end: LogEnd | undefined;
  /** Publishes the log to other processes. */
  publication: RunPublication | undefined;
  /** True once an event was recorded. */
  hasEvents = false;
  /** True once the log had a reader. */
  wasRead = false;
  /** Stops copying the log of another process; undefined unless this log is such a copy. */
  stopMirroring: (() => void) | undefined;
  /** Number of characters of the kept frames. */
  chars = 0;
  /** Number of characters of the largest frame so far. */
  largestChars = 0;
  /** The position that the log begins after. */
  beginPosition = 0;
  gonePosition = 0;
  lastPosition = 0;
  /** The kept frames are needed by the run or the memory of ended runs, only by readers, or by nobody: then they do not count any more. */
  #neededBy: 'run' | 'readers' | 'nobody';
  readonly #memory: RunMemory;
  readonly #chunkWriter = new ChunkWriter();
  readonly #firstFrame: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  /** Settles at the first frame, or at the end if there is none. Never rejects. */
  readonly firstFrame: Promise<void> = this.#firstFrame.promise;
  /** Resolves when the log has ended for any reason. Never rejects. */
  readonly ended: Promise<void> = this.#ended.promise;
  /** Number of readers that are about to join. */
  #joining = 0;
  #frames: RunFrame[] = [];
  #dropped = 0;
  /** The offset of the newest stored event, and the number of chunks after it. */
  #offset = 0;
  #chunks = 0;

  constructor(memory: RunMemory, { key, invocationId, isCopy = false, requestId }: RunLogParams) {
    this.#memory = memory;
    this.key = key;
    this.invocationId = invocationId;
    this.isCopy = isCopy;
    this.#neededBy = isCopy ? 'readers' : 'run';
    this.requestId = requestId;
  }

  /** See `RelayedLog`. Others read `end`. */
  get isEnded(): boolean {
    return this.end !== undefined;
  }

  /** See `RelayedLog`. Others read `end`. */
  get earlyEnd(): EventloomError | undefined {
    return this.end?.kind === 'continues' ? this.end.failure : undefined;
  }

  /** The number of kept frames. */
  get count(): number {
    return this.#frames.length - this.#dropped;
  }

  /** Starts an empty log after a position. Earlier frames are in the session. */
  startAfter(position: number): void {
    this.#offset = offsetOf(position);
    this.beginPosition = position;
    this.gonePosition = position;
    this.lastPosition = position;
  }

  /**
   * Adds an event of the run. Returns the number of characters of its frame; 0 for an event that readers do not get.
   * @param offset offset of the newest stored event; higher than before if this event is stored
   */
  append(event: Event, offset: number): number {
    const isStored = offset > this.#offset;
    if (isStored) {
      this.#offset = offset;
      this.#chunks = 0;
    }
    if (event.content === undefined && isBookkeeping(event)) return 0;
    this.hasEvents = true;
    const json = event.partial === true ? this.#chunkWriter.write(event) : serializeEvent(event);
    this.#push({ position: isStored ? eventPosition(offset) : this.#nextChunk(), json });
    return json.length;
  }

  /** Ends the log. Readers can still read the remaining frames. */
  endWith(end: LogEnd): void {
    this.end = end;
    if (end.failure && end.kind !== 'copied' && end.kind !== 'continues')
      this.#push({ position: this.#nextChunk(), json: JSON.stringify(errorBody(end.failure)) });
    this.#firstFrame.resolve();
    this.#ended.resolve();
    this.publication?.notify();
    for (const reader of this.readers) reader.notify();
  }

  /** Frees the memory of the log as soon as its last reader has left. */
  release(): void {
    this.#neededBy = 'readers';
    this.dropIfUnread();
  }

  /** Keeps the frames while a reader is about to join. */
  async whileJoining<T>(join: () => Promise<T>): Promise<T> {
    this.#joining++;
    try {
      return await join();
    } finally {
      this.#joining--;
      this.dropIfUnread();
    }
  }

  /** Frees the memory of a released log, and stops copying the log of another process, unless the log has readers. */
  dropIfUnread(): void {
    if (this.#neededBy !== 'readers' || this.#joining + this.readers.size > 0) return;
    this.#neededBy = 'nobody';
    this.stopMirroring?.();
    this.#memory.remove(this);
  }

  /** Adds frames of another process, or of the session, that the log does not have yet. */
  copy(frames: readonly RunFrame[]): void {
    for (const frame of frames) {
      if (frame.position <= this.lastPosition) continue;
      this.#offset = offsetOf(frame.position);
      this.#push(frame);
    }
  }

  framesAfter(position: number, maxChars: number): readonly RunFrame[] {
    let first = this.#dropped;
    for (let end = this.#frames.length; first < end;) {
      const middle = (first + end) >>> 1;
      if ((this.#frames[middle]?.position ?? 0) > position) end = middle;
      else first = middle + 1;
    }
    let last = first;
    for (let chars = 0; last < this.#frames.length && chars < maxChars; last++)
      chars += this.#frames[last]?.json.length ?? 0;
    return this.#frames.slice(first, last);
  }

  /** Drops the oldest frame. */
  dropOldest(): void {
    const frame = this.#frames[this.#dropped];
    if (!frame) return;
    // Frees the text.
    this.#frames[this.#dropped++] = { position: frame.position, json: '' };
    this.gonePosition = frame.position;
    this.chars -= frame.json.length;
    if (this.#neededBy !== 'nobody') this.#memory.count(this, -frame.json.length);
    if (this.#dropped < COMPACT_AT) return;
    this.#frames = this.#frames.slice(this.#dropped);
    this.#dropped = 0;
  }

  #nextChunk(): number {
    return chunkPosition(this.#offset, this.attempt, ++this.#chunks);
  }

  #push(frame: RunFrame): void {
    const { position, json } = frame;
    this.#frames.push(frame);
    this.lastPosition = position;
    this.chars += json.length;
    if (json.length > this.largestChars) this.largestChars = json.length;
    if (this.#neededBy !== 'nobody') this.#memory.count(this, json.length);
    if (this.#frames.length === 1) this.#firstFrame.resolve();
    for (const reader of this.readers) reader.notify();
    this.publication?.notify();
  }
}

/** Number of positions between two stored events. */
const PER_EVENT = 1_000_000_000;
/** Number of positions after an event for the chunks of one attempt at the run. */
const PER_ATTEMPT = 1_000_000;

/**
 * Returns the position of the frame of a stored event, from its offset in the run. Positions are integers, so that they are exact. The
 * number of a frame shows its position with up to nine decimals.
 *
 * @param offset see `RunStream.offset`
 */
export function eventPosition(offset: number): number {
  return offset * PER_EVENT;
}

/**
 * Returns the position of a frame that is only streamed: after a stored event, after the chunks of earlier attempts, and before the next
 * stored event, which replaces the chunks. Once in `EPOCH_CYCLE` leases of a session, the next attempt has lower positions.
 *
 * @param attempt the epoch of the lease of the attempt, from 1; 0, for a run that has not begun, counts as 1
 * @param chunk number of the chunk after the stored event, from 1
 */
export function chunkPosition(offset: number, attempt: number, chunk: number): number {
  const behind = ((Math.max(attempt - 1, 0) % EPOCH_CYCLE) + 1) * PER_ATTEMPT + chunk;
  return offset * PER_EVENT + Math.min(behind, PER_EVENT - 1);
}

/**
 * The position of the message that began a run, for readers that get it: before the first chunk, because a reader at 0 has nothing. Readers
 * get a message with answers, and all messages of a live run.
 */
export const MESSAGE_POSITION: number = chunkPosition(0, 1, 0);

/** Returns the offset in the run of the newest stored event at or before a position. */
export function offsetOf(position: number): number {
  return Math.floor(position / PER_EVENT);
}

/** Returns the number of a frame as text, which its reader sends as `Last-Event-ID`. Equal numbers have equal texts. */
export function formatPosition(position: number): string {
  // No position of a frame would be written with an exponent: chunks begin at PER_ATTEMPT.
  return String(position / PER_EVENT);
}

/**
 * Parses the number of a frame.
 *
 * @throws InvalidRequestError for any other text
 */
export function parsePosition(name: string, text: string): number {
  const [, offset = '', decimals = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (offset !== '') return Number(offset) * PER_EVENT + Number(decimals.padEnd(9, '0'));
  throw new InvalidRequestError(
    `${name}: expected the number of a frame, such as 3 or 3.001000002, got ${quotedName(text)}`,
  );
}
