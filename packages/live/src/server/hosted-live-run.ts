import {
  type Event,
  type EventloomError,
  type Platform,
  RunAbortedError,
  type RunBounds,
  type RunConfig,
  serializeEvent,
  SessionBusyError,
  type SessionKey,
  SessionNotFoundError,
  StorageError,
  toError,
  type TraceHeaders,
  UnfinishedRunError,
} from '@eventloom/core';
import { createErrorEvent, readWithoutEvents, reportTo, StoredError } from '@eventloom/core/internal';
import type { ErrorBody } from '@eventloom/core/wire';
import type { Runner, RunStream } from '@eventloom/runner';
import { type LiveSocket, type LiveSocketEvents, SlowReaderError } from '@eventloom/server';
import {
  errorBody,
  findTakenRun,
  readEnd,
  runPath,
  SESSION_DELETED,
  type SocketClose,
  socketCloseOf,
} from '@eventloom/server/internal';
import { type FrameLimits, LiveFrameReader } from './live-frame-reader.ts';
import { LiveFrameWriter, type LiveFrameWriterOptions } from './live-frame-writer.ts';

export interface HostedLiveRunParams extends LiveFrameWriterOptions {
  readonly key: SessionKey;
  readonly runner: Runner;
  readonly runConfig: RunConfig;
  readonly bounds: RunBounds | undefined;
  readonly socket: LiveSocket;
  readonly platform: Platform;
  readonly limits: FrameLimits;
  /** True sends the client its own texts and answers as events once they are accepted. Default false. */
  readonly sendsOwnMessages?: boolean;
  readonly traceHeaders?: TraceHeaders | undefined;
}

/** The close of a live run without an error. */
const LIVE_RUN_ENDED: SocketClose = { code: 1000, reason: 'the live run has ended' };
/** The heartbeats without a sign of life, or without progress, after which the client is disconnected. */
const MAX_MISSED_BEATS = 2;
/**
 * The heartbeats in which a client must send its first frame, if it answers no heartbeats: workerd does not report the
 * end of a connection that was lost while it was opened.
 */
const MAX_SILENT_BEATS = 4;
/** Maximum number of heartbeats that a client may be paused. A paused client cannot answer a heartbeat. */
const MAX_PAUSED_BEATS = 10;
/** Time that a run has to end after its client disconnected, in milliseconds. */
const HANG_UP_MS = 5000;

/** The reason for closing a WebSocket. It fits into the 123 bytes of a close frame. */
const TOO_MUCH_UNCONFIRMED =
  'too many bytes were sent without a confirmation; connect with ping=text, and answer pings';

const NOTHING_SAID = 'the session was taken before anything was said, by another run or a cancellation; call again';
const SENT_NOTHING = 'the client has sent no frame for too long; send one, or connect with ping=text and answer pings';

/** One WebSocket and its live run: the client's frames go into the queue of the run, the events of the run to the client. */
export class HostedLiveRun implements LiveSocketEvents {
  readonly key: SessionKey;
  readonly #params: HostedLiveRunParams;
  readonly #writer: LiveFrameWriter;
  readonly #input: LiveFrameReader;
  readonly #stream: RunStream;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** The reason for ending the call before its run ends. */
  #stopReason: EventloomError | undefined;
  #failure: Error | undefined;
  #isClosed = false;
  #hasEnded = false;
  #isSpeaking = false;
  #wasHeard = true;
  /** True once the client has sent a frame. */
  #hasSent = false;
  #silentBeats = 0;
  #missedBeats = 0;
  #pausedBeats = 0;
  #callOff: (() => void) | undefined;

  constructor(params: HostedLiveRunParams) {
    const { key, runner, runConfig, bounds, socket, limits, traceHeaders } = params;
    this.key = key;
    this.#params = params;
    this.#writer = new LiveFrameWriter(socket, params);
    this.#input = new LiveFrameReader(socket, limits);
    this.#stream = runner.runLive({
      userId: key.userId,
      sessionId: key.sessionId,
      liveRequestQueue: this.#input.queue,
      runConfig,
      bounds,
      abortSignal: this.#controller.signal,
      traceHeaders,
    });
    void this.#run();
    if (params.answersPings) void this.#reportBegin();
  }

  get invocationId(): string {
    return this.#stream.invocationId;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** True if the run has ended here and its end is not stored. */
  get leavesRunOpen(): boolean {
    return this.#hasEnded && this.#stream.leavesRunOpen;
  }

  /** The error that the run failed with, if it failed. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  message(frame: string | Uint8Array): void {
    if (this.#isClosed) return;
    this.#wasHeard = true;
    this.#hasSent = true;
    this.#writer.frameReceived();
    try {
      const control = this.#input.take(frame);
      if (!control) return;
      if ('pong' in control) this.#writer.answered(control.pong);
      else this.#answer('ping' in control ? JSON.stringify({ pong: control.ping }) : this.#errorFrame(control.fault));
    } catch (error) {
      this.#disconnect(toError(error));
    }
  }

  taken(size: number): void {
    this.#writer.takenMore(size);
  }

  pong(): void {
    this.#wasHeard = true;
  }

  closed(): void {
    this.#writer.gone();
    this.#hangUp();
  }

  /** Checks for a sign of life since the last heartbeat, and requests the next one. */
  beat(): void {
    if (this.#isClosed) return;
    const { answersPings, socket } = this.#params;
    const took = this.#writer.tookSinceLastBeat();
    const isWatched = answersPings || socket.ping !== undefined;
    if (!isWatched && !this.#hasSent && ++this.#silentBeats >= MAX_SILENT_BEATS)
      return this.#disconnect(new SlowReaderError(SENT_NOTHING));
    this.#pausedBeats = this.#input.isPaused ? this.#pausedBeats + 1 : 0;
    const isHeldUp = this.#input.isPaused && this.#pausedBeats <= MAX_PAUSED_BEATS;
    const isWell = this.#writer.hasRoom ? this.#wasHeard || !isWatched || isHeldUp : took;
    this.#missedBeats = isWell ? 0 : this.#missedBeats + 1;
    this.#wasHeard = false;
    if (this.#missedBeats < MAX_MISSED_BEATS) this.#writer.ping();
    else
      this.#disconnect(
        new SlowReaderError('the client read nothing, or did not answer heartbeats, for too long and was disconnected'),
      );
  }

  /** Ends the call at the end of the model's turn. */
  stopAtTurn(reason: EventloomError): void {
    this.#stopReason ??= reason;
    if (!this.#isSpeaking) this.#input.queue.close();
  }

  /** Ends the call. The words so far are stored. */
  stop(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#input.queue.close();
  }

  /** Ends the call at once. */
  abort(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#controller.abort(this.#stopReason);
    this.#writer.unbind();
  }

  /** Returns an error event that is sent to the client and not stored. */
  #errorFrame({ code, message }: EventloomError): string {
    const { platform, runner } = this.#params;
    const { invocationId } = this;
    const timestamp = platform.now() / 1000;
    const base = { id: platform.newEventId(), invocationId, author: runner.agent.name, timestamp, partial: true };
    return serializeEvent(createErrorEvent(base, code, message));
  }

  /**
   * Sends an answer without waiting for space. Fails for a client that sends requests and does not read, because its answers would fill the
   * memory.
   */
  #answer(text: string): void {
    if (this.#writer.hasRoom) this.#writer.writeText(text);
    else this.#disconnect(new SlowReaderError('the client sends requests but does not read the answers'));
  }

  /** Disconnects a client that broke a rule or does not read. */
  #disconnect(reason: Error): void {
    this.#sendEnd(reason);
    this.#hangUp();
  }

  #sendEnd(failure: Error | undefined): void {
    if (this.#isClosed) return;
    // The client can follow the run that has to end first, or cancel it.
    const open = UnfinishedRunError.isInstance(failure) ? failure.run : undefined;
    const more = open && { run: runPath(open, open.invocationId) };
    if (failure) this.#writer.writeText(JSON.stringify({ ...errorBody(failure), ...more }));
    const { code, reason } = failure ? socketCloseOf(failure) : LIVE_RUN_ENDED;
    this.#writer.close(code, reason);
  }

  /** Closes the queue of the run, so that the run ends in order, and aborts a run that has not ended after the grace period. */
  #hangUp(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#writer.closed();
    this.#input.queue.close();
    this.#callOff ??= this.#params.platform.schedule(HANG_UP_MS, () =>
      this.#controller.abort(new RunAbortedError('the client of the call has disconnected')),
    );
  }

  /** Sends a ping when the run has its session, by which the client sees that its call is accepted. */
  async #reportBegin(): Promise<void> {
    if (await this.#stream.whenBegun()) this.#writer.ping();
  }

  async #run(): Promise<void> {
    const { sendsOwnMessages } = this.#params;
    try {
      for await (const event of this.#stream) {
        if (sendsOwnMessages || !isOwnMessage(event)) this.#writer.write(event);
        if (event.turnComplete || event.interrupted) this.#isSpeaking = false;
        else if (event.content && event.author !== 'user') this.#isSpeaking = true;
        if (this.#writer.hasTooMuchUnconfirmed) this.#stopReason ??= new SlowReaderError(TOO_MUCH_UNCONFIRMED);
        if (this.#stopReason && !this.#isSpeaking) this.#input.queue.close();
        const room = this.#writer.room();
        if (room) await room;
      }
    } catch (error) {
      const isStop = RunAbortedError.isInstance(error) && this.#stopReason !== undefined;
      if (!isStop) this.#failure = toError(error);
    }
    this.#hasEnded = true;
    const reason = this.#failure ?? this.#stopReason;
    this.#sendEnd(this.leavesRunOpen ? ((await this.#findStoredEnd(reason)) ?? unstoredEnd(reason)) : reason);
    this.#hangUp();
    this.#callOff?.();
    this.#ended.resolve();
  }

  /**
   * Returns the error with which another run or another process ended this run: cancelled, abandoned or deleted with its session. A run in
   * which nothing was said has no record any more, and counts as one that did not get its session. Undefined while no end is stored.
   */
  async #findStoredEnd(reason: Error | undefined): Promise<Error | undefined> {
    if (StorageError.isInstance(reason)) return undefined;
    const { key, runner, platform } = this.#params;
    const service = runner.sessionService;
    try {
      const stored = await findTakenRun(service, platform, key, this.invocationId);
      if (!stored) {
        const session = await readWithoutEvents(service, key);
        return session ? new SessionBusyError(NOTHING_SAID) : new RunAbortedError(SESSION_DELETED);
      }
      const { frame } = stored.open ? {} : await readEnd(service, key, stored);
      if (!frame) return undefined;
      const { error, code } = JSON.parse(frame.json) as ErrorBody;
      return new StoredError(error, code);
    } catch (error) {
      reportTo(platform, error);
      return undefined;
    }
  }
}

/** Errors that do not say how the run ended. */
const OPEN_ENDS = [StorageError, SessionNotFoundError];

/**
 * Returns the error for the client of a run whose end is not stored: no other error is true yet. After the loss of the
 * lease, the process that takes the session over stores the end.
 */
function unstoredEnd(reason: Error | undefined): Error {
  if (reason && OPEN_ENDS.some((type) => type.isInstance(reason))) return reason;
  const message =
    'the call lost its session before its end was stored; what was said before is in the session, so call again';
  return new StorageError(message, { cause: reason });
}

/** True for an event with a text or an answer of the client, which clients of the ADK do not expect back. */
function isOwnMessage({ author, content }: Event): boolean {
  const parts = content?.parts ?? [];
  const isWritten = parts.every((part) => part.text !== undefined || part.functionResponse !== undefined);
  return author === 'user' && parts.length > 0 && isWritten;
}
