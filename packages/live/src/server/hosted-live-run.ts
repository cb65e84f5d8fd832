import {
  createErrorEvent,
  type Event,
  type EventloomError,
  type Platform,
  RunAbortedError,
  type RunConfig,
  serializeEvent,
  type SessionKey,
  toError,
} from '@eventloom/core';
import type { Runner, RunStream } from '@eventloom/runner';
import { type LiveSocket, type LiveSocketEvents, SlowReaderError } from '@eventloom/server';
import { errorBody, type SocketClose, socketCloseOf } from '@eventloom/server/internal';
import { type FrameLimits, LiveFrameReader } from './live-frame-reader.ts';
import { LiveFrameWriter, type LiveFrameWriterOptions } from './live-frame-writer.ts';

export interface HostedLiveRunParams extends LiveFrameWriterOptions {
  readonly key: SessionKey;
  readonly runner: Runner;
  readonly runConfig: RunConfig;
  readonly socket: LiveSocket;
  readonly platform: Platform;
  readonly limits: FrameLimits;
}

/** The close of a live run without an error. */
const CALL_OVER: SocketClose = { code: 1000, reason: 'the call is over' };
/** Beats without a sign of life, or with nothing taken, after which the client is let go. */
const MAX_MISSED_BEATS = 2;
/** Beats for which a client may be made to wait: whether it is still there cannot be seen meanwhile. */
const MAX_PAUSED_BEATS = 10;
/** What a run gets to put things away when its client is gone. */
const GRACE_MS = 5000;

/** Fits into the frame that closes a WebSocket. */
const TRUST_USED_UP = 'so much was sent without a word of what arrived: call again, with ping=text';

/** One WebSocket and the live run behind it: what the client says goes into the run's queue, what the run yields to the client. */
export class HostedLiveRun implements LiveSocketEvents {
  readonly key: SessionKey;
  readonly #params: HostedLiveRunParams;
  readonly #writer: LiveFrameWriter;
  readonly #input: LiveFrameReader;
  readonly #stream: RunStream;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** Why the call ends before its run does. */
  #stopReason: EventloomError | undefined;
  #failure: Error | undefined;
  #isClosed = false;
  #isSpeaking = false;
  #wasHeard = true;
  #missedBeats = 0;
  #pausedBeats = 0;
  #callOff: (() => void) | undefined;

  constructor(params: HostedLiveRunParams) {
    const { key, runner, runConfig, socket, limits } = params;
    this.key = key;
    this.#params = params;
    this.#writer = new LiveFrameWriter(socket, params);
    this.#input = new LiveFrameReader(socket, limits, {
      answer: (text) => this.#answer(text),
      answered: (ping) => this.#writer.answered(ping),
      refused: (error) => this.#answer(serializeEvent(this.#errorEvent(error))),
    });
    this.#stream = runner.runLive({
      userId: key.userId,
      sessionId: key.sessionId,
      liveRequestQueue: this.#input.queue,
      runConfig,
      abortSignal: this.#controller.signal,
    });
    void this.#run();
  }

  get invocationId(): string {
    return this.#stream.invocationId;
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Why the run failed; undefined when it did not. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  message(frame: string | Uint8Array): void {
    if (this.#isClosed) return;
    this.#wasHeard = true;
    this.#writer.heard();
    try {
      this.#input.take(frame);
    } catch (error) {
      this.#letGo(toError(error));
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

  /** Looks for a sign of life, and asks for the next. */
  beat(): void {
    if (this.#isClosed) return;
    const { answersPings, socket } = this.#params;
    const took = this.#writer.tookSinceLastBeat();
    const isWatched = answersPings || socket.ping !== undefined;
    this.#pausedBeats = this.#input.isPaused ? this.#pausedBeats + 1 : 0;
    const isHeldUp = this.#input.isPaused && this.#pausedBeats <= MAX_PAUSED_BEATS;
    const isWell = this.#writer.hasRoom ? this.#wasHeard || !isWatched || isHeldUp : took;
    this.#missedBeats = isWell ? 0 : this.#missedBeats + 1;
    this.#wasHeard = false;
    if (this.#missedBeats < MAX_MISSED_BEATS) this.#writer.ask();
    else
      this.#letGo(
        new SlowReaderError('for so long the client took nothing, or gave no sign of it, that it was let go'),
      );
  }

  /** Ends the call when the model has said its sentence. */
  stopAtTurn(reason: EventloomError): void {
    this.#stopReason ??= reason;
    if (!this.#isSpeaking) this.#input.queue.close();
  }

  /** Ends the call. What was said so far is stored. */
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

  /** Told to the client, and stored nowhere. */
  #errorEvent({ code, message }: EventloomError): Event {
    const { platform, runner } = this.#params;
    const { invocationId } = this;
    const timestamp = platform.now() / 1000;
    const told = { id: platform.newEventId(), invocationId, author: runner.agent.name, timestamp, partial: true };
    return createErrorEvent(told, code, message);
  }

  /** Nobody waits for room with an answer: a client that asks and does not read would fill the memory. */
  #answer(text: string): void {
    if (this.#writer.hasRoom) this.#writer.say(text);
    else this.#letGo(new SlowReaderError('the client asks and does not take what it is answered'));
  }

  /** Closes the connection because of what the client does, or does not. */
  #letGo(reason: Error): void {
    this.#tellEnd(reason);
    this.#hangUp();
  }

  #tellEnd(failure: Error | undefined): void {
    if (this.#isClosed) return;
    if (failure) this.#writer.say(JSON.stringify(errorBody(failure)));
    const { code, reason } = failure ? socketCloseOf(failure) : CALL_OVER;
    this.#writer.close(code, reason);
  }

  /** The run comes to its end, in good order if it can. */
  #hangUp(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#writer.closed();
    this.#input.queue.close();
    this.#callOff ??= this.#params.platform.schedule(GRACE_MS, () =>
      this.#controller.abort(new RunAbortedError('the client of the call is gone')),
    );
  }

  async #run(): Promise<void> {
    try {
      for await (const event of this.#stream) {
        this.#writer.write(event);
        if (event.turnComplete || event.interrupted) this.#isSpeaking = false;
        else if (event.content && event.author !== 'user') this.#isSpeaking = true;
        if (this.#writer.isTrustUsedUp) this.#stopReason ??= new SlowReaderError(TRUST_USED_UP);
        if (this.#stopReason && !this.#isSpeaking) this.#input.queue.close();
        const room = this.#writer.room();
        if (room) await room;
      }
    } catch (error) {
      const isStop = RunAbortedError.isInstance(error) && this.#stopReason !== undefined;
      if (!isStop) this.#failure = toError(error);
    }
    this.#tellEnd(this.#failure ?? this.#stopReason);
    this.#hangUp();
    this.#callOff?.();
    this.#ended.resolve();
  }
}
