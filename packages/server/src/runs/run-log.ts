import {
  type Event,
  type EventloomError,
  type Platform,
  RunAbortedError,
  serializeEvent,
  type SessionKey,
  ShuttingDownError,
  toError,
  UnfinishedRunError,
} from '@eventloom/core';
import type { RunStream } from '@eventloom/runner';
import { RunGoesOnError } from '../errors.ts';
import { errorBody } from '../http/error-response.ts';
import { chunkPosition, eventPosition, isBookkeeping } from './frame-position.ts';
import type { RunMemory } from './run-memory.ts';
import type { RunReader } from './run-reader.ts';
import type { LogMirror, RelayedLog, RelayEnd, RunFrame, RunPublication } from './run-relay.ts';

/** The stream of a run, as a log records it. */
export interface RecordedRun extends Omit<
  RunStream,
  'retry' | 'throw' | typeof Symbol.asyncIterator | typeof Symbol.asyncDispose
> {
  retry(): RecordedRun;
}

/**
 * Finishes the unfinished run that holds the session of a refused run.
 * @returns the stream of the refused run, started again
 */
export type FinishOther = (unfinished: UnfinishedRunError, refused: RecordedRun) => Promise<RecordedRun>;

/** Characters that a run appends before everything else has its turn: few at first, so that its beginning gets out soon. */
const CHARS_OF_FIRST_TURN = 16 * 1024;
const CHARS_PER_TURN = 512 * 1024;
/** Unfinished runs that a run finishes before it gives up: each time another one may come first. */
const MAX_FINISHED = 5;
/** Dropped frames are cut off the list once there are this many of them. */
const COMPACT_AT = 1024;

/**
 * The frames of one run in the order of their positions: one writer, any number of readers, each at its own pace. A reader is a
 * position and nothing else, so a slow one costs no memory and never delays the run. The oldest frames can be dropped. An event is
 * serialised once. The writer is `record` for a run of this process, and a relay for one of another process.
 */
export class RunLog implements RelayedLog, LogMirror {
  readonly key: SessionKey;
  readonly readers: Set<RunReader> = new Set();
  invocationId: string;
  attempt = 0;
  /** The sequence number of the run's message in its session; undefined until the run has its session, and in a mirror. */
  firstSeq: number | undefined;
  isEnded = false;
  goesOn: EventloomError | undefined;
  /** The failure of the run, as its caller sees it. */
  failure: Error | undefined;
  /** Publishes the log to other processes. */
  publication: RunPublication | undefined;
  /** The recording of the run, from its first step to its end. Never rejects. */
  recording: Promise<void> | undefined;
  /** True once an event was recorded, and once somebody read the log. */
  hasEvents = false;
  wasRead = false;
  /** True for a run that is resumed: what is before its beginning is in the session. */
  isResumed = false;
  /**
   * Resolves to true when the run has its session and its message is stored, to false when it ended without, or finishes another run first.
   * Never rejects.
   */
  started: Promise<boolean> | undefined;
  /** True once the run has its session and its message is stored, also when it finished another run first. */
  isStored = false;
  #stored: PromiseWithResolvers<boolean> | undefined;
  /** True for a run that no client asked for, until it has its session: it cannot be found. */
  isHidden = false;
  /** True for a copy of a run of another process. */
  isMirror = false;
  /** Requests that are about to read the log. */
  pending = 0;
  /** Ends the copying. */
  leave: (() => void) | undefined;
  /** Characters of the frames that are kept. */
  chars = 0;
  /** Characters of the largest frame that there ever was. */
  largestChars = 0;
  beginPosition = 0;
  gonePosition = 0;
  lastPosition = 0;
  readonly #memory: RunMemory;
  readonly #opened: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #ended: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #controller: AbortController = new AbortController();
  /** Settles at the first frame, and at the end when there is none. Never rejects. */
  readonly opened: Promise<void> = this.#opened.promise;
  /** Settles when the run is over, however it ended. Never rejects. */
  readonly ended: Promise<void> = this.#ended.promise;
  /** Aborts the run that is recorded. */
  readonly abortSignal: AbortSignal = this.#controller.signal;
  #stopReason: EventloomError | undefined;
  #frames: RunFrame[] = [];
  #dropped = 0;
  /** The newest stored event, and the chunks behind it. */
  #seq = 0;
  #chunks = 0;
  #charsLeft = CHARS_OF_FIRST_TURN;

  constructor(memory: RunMemory, key: SessionKey, invocationId: string) {
    this.#memory = memory;
    this.key = key;
    this.invocationId = invocationId;
  }

  /** The number of kept frames. */
  get count(): number {
    return this.#frames.length - this.#dropped;
  }

  /** Notes that the run has its session: its id, and where in the run this log begins. */
  begin({ invocationId, attempt, firstSeq, beginSeq }: RecordedRun): void {
    if (this.firstSeq !== undefined) return;
    this.invocationId = invocationId;
    this.attempt = attempt;
    this.firstSeq = firstSeq;
    this.#seq = beginSeq;
    if (this.isResumed) this.beginAt(eventPosition(beginSeq));
  }

  /** Notes that the run has its session and its message is stored. */
  markStored(): void {
    this.isStored = true;
    this.#stored?.resolve(true);
  }

  /** Resolves to true when the run is stored, to false when it is over before it was. Never rejects. */
  whenStored(): Promise<boolean> {
    this.#stored ??= Promise.withResolvers();
    if (this.isStored || this.isEnded) this.#stored.resolve(this.isStored);
    return this.#stored.promise;
  }

  /** Begins an empty log behind a position: what is before it is in the session. */
  beginAt(position: number): void {
    this.beginPosition = position;
    this.gonePosition = position;
    this.lastPosition = position;
  }

  /**
   * Records a run to its end, whether anybody reads it or not. Never rejects. A failure that the session tells of is the last frame; after
   * any other end before the run's own, readers are told that the run goes on.
   * @param finishOther finishes the unfinished run of the session first; without it the run fails then
   */
  async record(first: RecordedRun, timers: Pick<Platform, 'schedule'>, finishOther?: FinishOther): Promise<void> {
    let stream = first;
    try {
      for (let tries = 1; ; tries++) {
        try {
          for (let step = await stream.next(); !step.done; step = await stream.next()) {
            this.begin(stream);
            this.#recordEvent(step.value, stream.seq);
            if (this.#stopReason && step.value.partial !== true) this.abort(this.#stopReason);
            if (this.#charsLeft > 0) continue;
            // An agent that never waits for anything would keep every reader, and every other run, from their turn.
            this.#charsLeft = CHARS_PER_TURN;
            await new Promise<void>((resolve) => void timers.schedule(0, resolve));
          }
          break;
        } catch (thrown) {
          if (!finishOther || !UnfinishedRunError.isInstance(thrown) || tries === MAX_FINISHED) throw thrown;
          stream = await finishOther(thrown, stream);
        }
      }
    } catch (thrown) {
      this.failure = RunAbortedError.isInstance(thrown) && this.#stopReason ? this.#stopReason : toError(thrown);
      // An event that cannot be recorded leaves the run with its session.
      await stream.return().catch(() => undefined);
      if (stream.isLeftOpen) {
        this.failure = this.goesOn = goesOnError(this.failure);
      } else {
        // A client that is told to try again would say what is stored already.
        if (ShuttingDownError.isInstance(this.failure) && (await stream.whenStarted()))
          this.failure = shutDownError(this.failure);
        this.#append(this.#nextChunk(), JSON.stringify(errorBody(this.failure)));
      }
    }
  }

  /** Ends the log. Readers that have not read everything yet read on. */
  end(goesOn: EventloomError | undefined = this.goesOn): void {
    this.goesOn = goesOn;
    this.isEnded = true;
    this.#stored?.resolve(this.isStored);
    this.#opened.resolve();
    this.#ended.resolve();
    this.publication?.notify();
    for (const reader of this.readers) reader.notify();
  }

  /** Ends the run because somebody wants that. One that has ended is left as it is. */
  cancel(): void {
    if (!this.isEnded) this.abort(new RunAbortedError('the run was cancelled'));
  }

  /** Ends the run now. Whatever it committed stays. */
  abort(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#controller.abort(this.#stopReason);
  }

  /** Ends the run when its next event is stored, so that nothing half done is lost. */
  stopAtCommit(reason: EventloomError): void {
    this.#stopReason ??= reason;
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
    // Lets the text go.
    this.#frames[this.#dropped++] = { position: frame.position, json: '' };
    this.gonePosition = frame.position;
    this.chars -= frame.json.length;
    this.#memory.count(this, -frame.json.length);
    if (this.#dropped < COMPACT_AT) return;
    this.#frames = this.#frames.slice(this.#dropped);
    this.#dropped = 0;
  }

  #recordEvent(event: Event, seq: number): void {
    const isStored = seq > this.#seq;
    if (isStored) {
      this.#seq = seq;
      this.#chunks = 0;
    }
    if (event.content === undefined && isBookkeeping(event)) return;
    this.hasEvents = true;
    this.#append(isStored ? eventPosition(seq) : this.#nextChunk(), serializeEvent(event));
  }

  #nextChunk(): number {
    return chunkPosition(this.#seq, this.attempt, ++this.#chunks);
  }

  #append(position: number, json: string): void {
    this.#frames.push({ position, json });
    this.lastPosition = position;
    this.chars += json.length;
    this.#charsLeft -= json.length;
    if (json.length > this.largestChars) this.largestChars = json.length;
    this.#memory.count(this, json.length);
    this.#opened.resolve();
    for (const reader of this.readers) reader.notify();
    this.publication?.notify();
  }
}

/** The name of a run in a process: a session that is forked or imported may have runs with the ids of others. Ids hold no NUL. */
export function runName({ appName, userId, sessionId }: SessionKey, invocationId: string): string {
  return `${appName}\0${userId}\0${sessionId}\0${invocationId}`;
}

function shutDownError(cause: Error): RunAbortedError {
  return new RunAbortedError('the server was shut down before the run ended; what it committed is in the session', {
    cause,
  });
}

/** Converts the reason to an error. The run continues, so no follower may be told that it failed. */
function goesOnError(reason: Error): RunGoesOnError {
  const why = ShuttingDownError.isInstance(reason)
    ? 'the server is shutting down, and the run goes on at the next start'
    : 'the run goes on in another process, or when its storage can be reached again';
  return new RunGoesOnError(`${why}: do not send the message again, and follow the run at its address`, {
    cause: reason,
  });
}
