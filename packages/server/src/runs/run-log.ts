import {
  type EventloomError,
  type Platform,
  RunAbortedError,
  serializeEvent,
  type SessionKey,
  InvalidRequestError,
} from '@eventloom/core';
import { isBookkeeping } from '@eventloom/core/internal';
import type { RunStream } from '@eventloom/runner';
import { errorBody } from '../http/error-response.ts';
import { quotedName } from '../http/request-body.ts';
import type { RunMemory } from './run-memory.ts';
import type { RunReader } from './run-reader.ts';
import type { LogMirror, RelayedLog, RelayEnd, RunFrame, RunPublication } from './run-relay.ts';

/** The stream of a run, as a log records it. */
export interface RecordedRun extends Omit<
  RunStream,
  'isInterrupted' | 'retry' | 'throw' | typeof Symbol.asyncIterator | typeof Symbol.asyncDispose
> {
  retry(): RecordedRun;
}

/** Parameters of a `RunLog`. */
export interface RunLogParams {
  readonly key: SessionKey;
  readonly invocationId: string;
  /** The stream of a run of this process. Default: none, the log is filled from elsewhere. */
  readonly stream?: Pick<RecordedRun, 'invocationId'> | undefined;
  /** Aborts the stream. Default: nothing to abort. */
  readonly controller?: AbortController | undefined;
  /** The name under which the process lists the run: see `runName`. */
  readonly name?: string | undefined;
  /** The id of the request that began the run, or continued it here, if the caller gave one. */
  readonly requestId?: string | undefined;
  /** True for a run that may be resumed: it gets its id, and the position at which the log begins, when it has its session. */
  readonly mayResume?: boolean | undefined;
}

/** Number of characters that a run appends before other work gets its turn: few at first, so that its beginning is sent soon. */
const CHARS_OF_FIRST_TURN = 16 * 1024;
const CHARS_PER_TURN = 512 * 1024;
/** Number of dropped frames after which the list is shortened. */
const COMPACT_AT = 1024;

/**
 * The frames of one run in the order of their positions: one writer, any number of readers, each at its own pace. A reader is a
 * position and nothing else, so a slow one costs no memory and never delays the run. The oldest frames can be dropped. An event is
 * serialised once. The writer is `record` for a run of this process, and a relay for one of another process.
 */
export class RunLog implements RelayedLog, LogMirror {
  readonly key: SessionKey;
  /** The name under which the process lists the run. Another one once the run has its session. */
  name: string;
  readonly readers: Set<RunReader> = new Set();
  /** The run that is recorded; undefined in a mirror. */
  stream: Pick<RecordedRun, 'invocationId'> | undefined;
  invocationId: string;
  readonly requestId: string | undefined;
  attempt = 0;
  /** The sequence number of the run's message in its session; undefined until the run has its session, and in a mirror. */
  firstSeq: number | undefined;
  isEnded = false;
  /** The reason that the log ended although the run did not; undefined for a run that ended. */
  leftOpen: EventloomError | undefined;
  /** The failure of the run, as its caller sees it. */
  failure: Error | undefined;
  /** Publishes the log to other processes. */
  publication: RunPublication | undefined;
  /** True once an event was recorded. */
  hasEvents = false;
  /** True once the log had a reader. */
  wasRead = false;
  readonly mayResume: boolean;
  /** True once the run has its session and its message is stored, also when it finished another run first. */
  isStored = false;
  #stored: PromiseWithResolvers<boolean> | undefined;
  /** True for a copy of a run of another process. */
  isMirror = false;
  /** True once nothing but readers needs the log. */
  isReleased = false;
  /** Requests that are about to read the log. */
  pending = 0;
  /** Ends the copying of a run of another process. */
  leave: (() => void) | undefined;
  /** Characters of the frames that are kept. */
  chars = 0;
  /** Characters of the largest frame that there ever was. */
  largestChars = 0;
  beginPosition = 0;
  gonePosition = 0;
  lastPosition = 0;
  readonly #memory: RunMemory;
  readonly #firstFrame: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #controller: AbortController | undefined;
  /** Fires when the run that is recorded is aborted; undefined for a log that is filled from elsewhere. */
  readonly abortSignal: AbortSignal | undefined;
  /** Settles at the first frame, or at the end if there is none. Never rejects. */
  readonly firstFrame: Promise<void> = this.#firstFrame.promise;
  /** Settles when the run has ended in any way. Never rejects. */
  readonly ended: Promise<void> = this.#ended.promise;
  #stopReason: EventloomError | undefined;
  #frames: RunFrame[] = [];
  #dropped = 0;
  /** The offset of the newest stored event, and the number of chunks after it. */
  #offset = 0;
  #chunks = 0;
  #charsLeft = CHARS_OF_FIRST_TURN;
  #isForgotten = false;

  constructor(memory: RunMemory, params: RunLogParams) {
    const { key, invocationId, stream, controller, name = '', requestId, mayResume = false } = params;
    this.#memory = memory;
    this.key = key;
    this.invocationId = invocationId;
    this.stream = stream;
    this.#controller = controller;
    this.abortSignal = controller?.signal;
    this.name = name;
    this.requestId = requestId;
    this.mayResume = mayResume;
  }

  /** True while a run that may be resumed waits for its session. */
  get isResuming(): boolean {
    return this.mayResume && !this.isStored;
  }

  /** The number of kept frames. */
  get count(): number {
    return this.#frames.length - this.#dropped;
  }

  /** Notes that the run has its session and its message is stored: its id, and where in the run this log begins. */
  begin(run: RecordedRun): void {
    const { invocationId, attempt, firstSeq, beginOffset } = run;
    this.invocationId = invocationId;
    this.attempt = attempt;
    this.firstSeq = firstSeq;
    this.#offset = beginOffset;
    if (beginOffset > 0) this.beginAt(eventPosition(beginOffset));
    this.isStored = true;
    this.#stored?.resolve(true);
  }

  /** Resolves to true when the run is stored, to false if it ended before that. Never rejects. */
  whenStored(): Promise<boolean> {
    this.#stored ??= Promise.withResolvers();
    if (this.isStored || this.isEnded) this.#stored.resolve(this.isStored);
    return this.#stored.promise;
  }

  /** Starts an empty log after a position; earlier frames are in the session. */
  beginAt(position: number): void {
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
        this.#append(isStored ? eventPosition(this.#offset) : this.#nextChunk(), serializeEvent(event));
      }
      if (this.#stopReason && event.partial !== true) this.abort(this.#stopReason);
      if (this.#charsLeft > 0) continue;
      // An agent that never waits would starve all readers and all other runs.
      this.#charsLeft = CHARS_PER_TURN;
      await new Promise<void>((resolve) => void timers.schedule(0, resolve));
    }
  }

  /** Writes the failure stored in the session as the last frame. */
  fail(failure: Error): void {
    this.failure = failure;
    this.#append(this.#nextChunk(), JSON.stringify(errorBody(failure)));
  }

  /** Notes why the log will end although the run does not. The reason is no frame: the run has events behind it. */
  leaveOpen(reason: EventloomError): void {
    this.failure = reason;
    this.leftOpen = reason;
  }

  /** Ends the log. Readers that have not read everything yet read on. */
  end(leftOpen: EventloomError | undefined = this.leftOpen): void {
    this.leftOpen = leftOpen;
    this.isEnded = true;
    this.#stored?.resolve(this.isStored);
    this.#firstFrame.resolve();
    this.#ended.resolve();
    this.publication?.notify();
    for (const reader of this.readers) reader.notify();
  }

  /** The reason that the run was stopped for, if it was. */
  get stopReason(): EventloomError | undefined {
    return this.#stopReason;
  }

  /** Ends the run because somebody wants that. One that has ended is left as it is. */
  cancel(): void {
    if (!this.isEnded) this.abort(new RunAbortedError('the run was cancelled'));
  }

  /** Ends the run now. Whatever it committed stays. */
  abort(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#controller?.abort(this.#stopReason);
  }

  /** Ends the run when its next event is stored, so that nothing half done is lost. */
  stopAtCommit(reason: EventloomError): void {
    this.#stopReason ??= reason;
  }

  /** Gives the memory of the log back, as soon as its last reader has left. */
  release(): void {
    this.isReleased = true;
    this.leaveUnread();
  }

  /** Stops mirroring a run of another process, and forgets a log that is released, unless the log has readers. */
  leaveUnread(): void {
    if (this.pending + this.readers.size > 0) return;
    const { leave } = this;
    this.leave = undefined;
    leave?.();
    if (!leave && !this.isReleased) return;
    this.#memory.forget(this);
    this.#isForgotten = true;
  }

  mirror(frames: readonly RunFrame[], gonePosition: number): void {
    if (gonePosition > this.lastPosition) {
      while (this.count > 0) this.dropOldest();
      this.beginAt(gonePosition);
    }
    for (const { position, json } of frames) if (position > this.lastPosition) this.#append(position, json);
  }

  mirrorEnded(end: RelayEnd | undefined): void {
    if (!this.isEnded) this.end(end?.kind === 'lost' ? end.error : undefined);
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
    // Releases the text.
    this.#frames[this.#dropped++] = { position: frame.position, json: '' };
    this.gonePosition = frame.position;
    this.chars -= frame.json.length;
    if (!this.#isForgotten) this.#memory.count(this, -frame.json.length);
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
    if (!this.#isForgotten) this.#memory.count(this, json.length);
    this.#firstFrame.resolve();
    for (const reader of this.readers) reader.notify();
    this.publication?.notify();
  }
}

/** The name of a run in a process: a session that is forked or imported may have runs with the ids of others. Ids hold no NUL. */
export function runName({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
}

/** Positions per event of the session. */
const PER_EVENT = 1_000_000_000;
/** Positions behind an event for the chunks of one attempt at the run. */
const PER_ATTEMPT = 1_000_000;
const MAX_ATTEMPTS = 998;

/**
 * The position of the frame of a stored event, from its offset in the run. Positions are integers, so
 * that they are exact; as the number of a frame they are written with up to nine decimals.
 * @param offset see `RunStream.offset`
 */
export function eventPosition(offset: number): number {
  return offset * PER_EVENT;
}

/**
 * The position of a frame that is only streamed: behind a stored event, behind all chunks of earlier attempts, and before the next
 * stored event, which supersedes it.
 * @param attempt from 1; grows with each attempt at the run; 0 for a run that has not begun counts as 1
 * @param chunk counts from 1 behind each stored event
 */
export function chunkPosition(offset: number, attempt: number, chunk: number): number {
  const behind = ((Math.max(attempt - 1, 0) % MAX_ATTEMPTS) + 1) * PER_ATTEMPT + chunk;
  return offset * PER_EVENT + Math.min(behind, PER_EVENT - 1);
}

/** The offset in the run of the newest stored event at or before a position. */
export function offsetOf(position: number): number {
  return Math.floor(position / PER_EVENT);
}

/** The number of a frame as its text: what its reader sends as `Last-Event-ID`. Equal numbers have equal texts. */
export function formatPosition(position: number): string {
  // No frame has a position that would be written with an exponent: chunks begin at PER_ATTEMPT.
  return String(position / PER_EVENT);
}

/** Reads the number of a frame. @throws InvalidRequestError for anything that is no such number */
export function parsePosition(name: string, text: string): number {
  const [, offset = '', decimals = ''] = /^(\d{1,7})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (offset !== '') return Number(offset) * PER_EVENT + Number(decimals.padEnd(9, '0'));
  throw new InvalidRequestError(
    `${name}: expected the number of a frame, such as 3 or 3.001000002, got ${quotedName(text)}`,
  );
}
