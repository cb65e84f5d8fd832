import {
  type EventloomError,
  type Platform,
  RunAbortedError,
  serializeEvent,
  type SessionKey,
  InvalidRequestError,
} from '@eventloom/core';
import { ChunkWriter, EPOCH_CYCLE, isBookkeeping } from '@eventloom/core/internal';
import type { RunStream } from '@eventloom/runner';
import type { StartKind } from '@eventloom/runner/internal';
import { errorBody } from '../http/error-response.ts';
import { quotedName } from '../http/request-body.ts';
import type { RunMemory } from './run-memory.ts';
import type { RunReader } from './run-reader.ts';
import type { RelayedLog, RunFrame, RunPublication } from './run-relay.ts';

/** The stream of a run, as a log records it. */
export interface RecordedRun extends Omit<
  RunStream,
  'retry' | 'throw' | typeof Symbol.asyncIterator | typeof Symbol.asyncDispose
> {
  retry(): RecordedRun;
}

/** Parameters of a `RunLog`. */
interface RunLogParams {
  readonly key: SessionKey;
  readonly invocationId: string;
  /** The stream of a run of this process. Default: none, because the log is filled from another source. */
  readonly stream?: Pick<RecordedRun, 'invocationId'> | undefined;
  /** Aborts the stream. Default: nothing to abort. */
  readonly controller?: AbortController | undefined;
  /** The name under which the process lists the run: see `runName`. */
  readonly name?: string | undefined;
  /** The id of the request that began the run, or continued it here, if the caller gave one. */
  readonly requestId?: string | undefined;
  /** Default: `message`. */
  readonly start?: StartKind | undefined;
  /** See `RunLog.waitingId`. */
  readonly waitingId?: string | undefined;
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
  | { readonly kind: 'left'; readonly failure: EventloomError }
  /** The session was deleted during the run. */
  | { readonly kind: 'deleted'; readonly failure: Error }
  /** The run ended before its message was stored. After a StorageError the message may be stored nevertheless. */
  | { readonly kind: 'refused'; readonly failure: Error }
  /** The run was cancelled under this id of its request before it began. */
  | { readonly kind: 'cancelled'; readonly failure: Error; readonly requestId: string };

/**
 * Number of characters that a run appends before other work runs: a few events at first, so that its beginning is sent immediately, then
 * twice as many each time, up to the length of one write of a reader, so that the client reads while the run produces more.
 */
const CHARS_OF_FIRST_TURN = 2 * 1024;
const MAX_CHARS_PER_TURN = 64 * 1024;
/** Number of characters that an event counts that readers do not get. */
const CHARS_OF_BOOKKEEPING = 256;
/** Number of dropped frames after which the list is shortened. */
const COMPACT_AT = 1024;

/**
 * The frames of one run in the order of their positions: one writer, any number of readers, each at its own pace. A reader only has a
 * position, so a slow reader uses no memory and never delays the run. The oldest frames can be dropped. An event is serialised once. The
 * writer is `record` for a run of this process, and a `RunMirror` for one of another process.
 */
export class RunLog implements RelayedLog {
  readonly key: SessionKey;
  /** The name under which the process lists the run. It changes if the run that gets the session is another one than expected. */
  name: string;
  readonly readers: Set<RunReader> = new Set();
  /** The run that is recorded; undefined in a mirror, and after the end, because it holds the message. */
  stream: Pick<RecordedRun, 'invocationId'> | undefined;
  invocationId: string;
  readonly requestId: string | undefined;
  /** The kind of the run's start. Answers and a resume continue another run: its id and the first position of its log are known later. */
  readonly start: StartKind;
  /** Id of a request that waits to continue a run, by which other processes find it; undefined for other runs, and without a request id. */
  readonly waitingId: string | undefined;
  attempt = 0;
  /** The sequence number of the run's message in its session; undefined until the run has its session, and in a mirror. */
  firstSeq: number | undefined;
  /** Undefined while the log may get frames. */
  end: LogEnd | undefined;
  /** Publishes the log to other processes. */
  publication: RunPublication | undefined;
  /** True once an event was recorded. */
  hasEvents = false;
  /** True once the log had a reader. */
  wasRead = false;
  /** True once the run was asked to end. */
  isCancelled = false;
  /** Number of requests that are about to read the log. */
  pending = 0;
  /** Stops copying the log of another process; undefined unless this log is such a copy. */
  stopMirroring: (() => void) | undefined;
  /** Number of characters of the kept frames. */
  chars = 0;
  /** Number of characters of the largest frame so far. */
  largestChars = 0;
  beginPosition = 0;
  gonePosition = 0;
  lastPosition = 0;
  #begun: PromiseWithResolvers<boolean> | undefined;
  /** The kept frames are needed by the run or the memory of ended runs, only by readers, or by nobody: then they do not count any more. */
  #neededBy: 'run' | 'readers' | 'nobody';
  readonly #memory: RunMemory;
  readonly #chunkWriter = new ChunkWriter();
  readonly #firstFrame: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #controller: AbortController | undefined;
  /** Fires when the recorded run is aborted; undefined for a log without a stream of its own. */
  readonly abortSignal: AbortSignal | undefined;
  /** Settles at the first frame, or at the end if there is none. Never rejects. */
  readonly firstFrame: Promise<void> = this.#firstFrame.promise;
  /** Resolves when the log has ended for any reason. Never rejects. */
  readonly ended: Promise<void> = this.#ended.promise;
  #stopReason: EventloomError | undefined;
  #frames: RunFrame[] = [];
  #dropped = 0;
  /** The offset of the newest stored event, and the number of chunks after it. */
  #offset = 0;
  #chunks = 0;
  #charsOfTurn = CHARS_OF_FIRST_TURN;
  #charsLeft = CHARS_OF_FIRST_TURN;

  constructor(memory: RunMemory, params: RunLogParams) {
    const { key, invocationId, stream, controller, name = '', requestId, start = 'message', waitingId } = params;
    this.#memory = memory;
    this.key = key;
    this.invocationId = invocationId;
    this.stream = stream;
    this.#neededBy = stream ? 'run' : 'readers';
    this.#controller = controller;
    this.abortSignal = controller?.signal;
    this.name = name;
    this.requestId = requestId;
    this.start = start;
    this.waitingId = waitingId;
  }

  /** True once the run has its session and its message is stored. */
  get hasBegun(): boolean {
    return this.firstSeq !== undefined;
  }

  /** True while a run that may continue an earlier one waits for its session. */
  get waitsToContinue(): boolean {
    return this.start !== 'message' && !this.hasBegun;
  }

  /** See `RelayedLog`. Others read `end`. */
  get isEnded(): boolean {
    return this.end !== undefined;
  }

  /** See `RelayedLog`. Others read `end`. */
  get earlyEnd(): EventloomError | undefined {
    return this.end?.kind === 'left' ? this.end.failure : undefined;
  }

  /** The number of kept frames. */
  get count(): number {
    return this.#frames.length - this.#dropped;
  }

  /** Records that the run has its session and its message is stored. Sets its id and the position at which this log begins. */
  noteBegun(run: RecordedRun): void {
    const { invocationId, attempt, firstSeq, beginOffset } = run;
    this.invocationId = invocationId;
    this.attempt = attempt;
    this.firstSeq = firstSeq;
    this.#offset = beginOffset;
    if (beginOffset > 0) this.startAfter(eventPosition(beginOffset));
    this.#begun?.resolve(true);
  }

  /** Resolves to true when the run's message is stored, to false if the run ended before that. Never rejects. */
  whenBegun(): Promise<boolean> {
    this.#begun ??= Promise.withResolvers();
    if (this.hasBegun || this.end) this.#begun.resolve(this.hasBegun);
    return this.#begun.promise;
  }

  /** Starts an empty log after a position. Earlier frames are in the session. */
  startAfter(position: number): void {
    this.beginPosition = position;
    this.gonePosition = position;
    this.lastPosition = position;
  }

  /** Records the events of a run until its end, with or without readers. Throws the error of the run. */
  async record(stream: RecordedRun, timers: Pick<Platform, 'schedule'>): Promise<void> {
    for (let step = await stream.next(); !step.done; step = await stream.next()) {
      const event = step.value;
      const isStored = stream.offset > this.#offset;
      if (isStored) {
        this.#offset = stream.offset;
        this.#chunks = 0;
      }
      if (event.content !== undefined || !isBookkeeping(event)) {
        this.hasEvents = true;
        const json = event.partial === true ? this.#chunkWriter.write(event) : serializeEvent(event);
        this.#append(isStored ? eventPosition(this.#offset) : this.#nextChunk(), json);
      } else {
        this.#charsLeft -= CHARS_OF_BOOKKEEPING;
      }
      if (this.#stopReason && event.partial !== true) this.abort(this.#stopReason);
      if (this.#charsLeft > 0) continue;
      // An agent that never waits would otherwise block all readers and all other runs.
      this.#charsOfTurn = Math.min(2 * this.#charsOfTurn, MAX_CHARS_PER_TURN);
      this.#charsLeft = this.#charsOfTurn;
      await new Promise<void>((resolve) => void timers.schedule(0, resolve));
    }
  }

  /** Ends the log. Readers can still read the remaining frames. */
  endWith(end: LogEnd): void {
    this.end = end;
    if (end.failure && end.kind !== 'copied' && end.kind !== 'left')
      this.#append(this.#nextChunk(), JSON.stringify(errorBody(end.failure)));
    this.stream = undefined;
    this.#begun?.resolve(this.hasBegun);
    this.#firstFrame.resolve();
    this.#ended.resolve();
    this.publication?.notify();
    for (const reader of this.readers) reader.notify();
  }

  /** The reason why the run was stopped; undefined if it was not. */
  get stopReason(): EventloomError | undefined {
    return this.#stopReason;
  }

  /** Cancels the run. Does nothing for a run that has ended. */
  cancel(): void {
    if (this.end) return;
    this.isCancelled = true;
    this.abort(new RunAbortedError('the run was cancelled', { cancelsCalls: true }));
  }

  /** Aborts the run. Its committed events stay. */
  abort(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#controller?.abort(this.#stopReason);
  }

  /** Ends the run when its next event is stored, so that no unfinished work is lost. */
  stopAtCommit(reason: EventloomError): void {
    this.#stopReason ??= reason;
  }

  /** Frees the memory of the log as soon as its last reader has left. */
  release(): void {
    this.#neededBy = 'readers';
    this.dropIfUnread();
  }

  /** Frees the memory of a released log, and stops copying the log of another process, unless the log has readers. */
  dropIfUnread(): void {
    if (this.#neededBy !== 'readers' || this.pending + this.readers.size > 0) return;
    this.#neededBy = 'nobody';
    this.stopMirroring?.();
    this.#memory.remove(this);
  }

  /** Adds frames of another process, or of the session, that the log does not have yet. */
  copy(frames: readonly RunFrame[]): void {
    for (const { position, json } of frames) {
      if (position <= this.lastPosition) continue;
      this.#offset = offsetOf(position);
      this.#append(position, json);
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

  #append(position: number, json: string): void {
    this.#frames.push({ position, json });
    this.lastPosition = position;
    this.chars += json.length;
    this.#charsLeft -= json.length;
    if (json.length > this.largestChars) this.largestChars = json.length;
    if (this.#neededBy !== 'nobody') this.#memory.count(this, json.length);
    if (this.#frames.length === 1) this.#firstFrame.resolve();
    for (const reader of this.readers) reader.notify();
    this.publication?.notify();
  }
}

/**
 * Returns the name of a run within a process. It includes the session, because forked or imported sessions may have
 * runs with the same ids. Ids contain no NUL.
 */
export function runName({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
}

/** Returns the path of a session. */
export function sessionPath({ appName, userId, sessionId }: SessionKey): string {
  return `/apps/${encodeURIComponent(appName)}/users/${encodeURIComponent(userId)}/sessions/${encodeURIComponent(sessionId)}`;
}

/** Returns the path at which a run is followed, asked for its state and cancelled. */
export function runPath(key: SessionKey, invocationId: string): string {
  return `${sessionPath(key)}/runs/${encodeURIComponent(invocationId)}`;
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
