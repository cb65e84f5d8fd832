import type { Event } from '@eventloom/core';

/** The beginning of a run's stream: its message is stored, or its session is locked again. */
export interface RunBeginning {
  /**
   * The number of the attempt: the epoch of its lease. Grows with each attempt at the run, also in other processes. 0 for
   * a run of another process that is followed.
   */
  readonly attempt: number;
  /** The sequence number of the run's message in its session. */
  readonly firstSeq: number;
  /**
   * The offset before the first event of the stream: 0 for a new run, and for a resumed one the offset of the session's
   * newest event.
   */
  readonly offset: number;
}

/** The events of one run, as they are committed. A reader that stops reading ends the run. */
export interface RunStream extends AsyncGenerator<Event, void, undefined> {
  /**
   * The id of the run, available before the first event. For answers to calls that are sent without an `invocationId` it is final once the
   * run has begun, because they may continue the run that requested them.
   */
  readonly invocationId: string;
  /**
   * The position in the run of the event that was yielded last: its sequence number in the session, less that of the run's message. A
   * streamed event has the position of the stored event before it. Before the first event: that of the session's newest event.
   */
  readonly offset: number;
  /**
   * The way the run is started: known from the parameters alone, before they are checked. Only a `message` surely starts a new
   * run: `answers` may continue the run that asked. The Runner of `@eventloom/adk` assigns it before the run takes a step.
   *
   * @internal
   */
  startKind: 'message' | 'answers' | 'resume' | 'live';
  /** Undefined until the run has begun. @internal */
  readonly begun: RunBeginning | undefined;
  /** True if the stream ended and the run did not: the run is still open in the session, or another process took it over. @internal */
  readonly leavesRunOpen: boolean;
  /**
   * The error that ended the run, for a host of the run, if this stream ends without throwing it or throws another one, as the streams of
   * `@eventloom/adk` do.
   *
   * @internal
   */
  failure?: Error | undefined;
  /**
   * Resolves to true when the run has its session and its message is stored, and to false if the run ended before. Never rejects: an error
   * is thrown to the reader. The run starts when the first event is read.
   */
  whenBegun(): Promise<boolean>;
  /**
   * Starts the run again, under the same id, after it was refused before its start, for example with
   * UnfinishedRunError.
   * @internal
   */
  retry(): RunStream;
}
