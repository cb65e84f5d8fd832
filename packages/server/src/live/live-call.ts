import {
  createErrorEvent,
  EventloomError,
  LiveRequestQueue,
  type Platform,
  RunAbortedError,
  type RunConfig,
  type SessionKey,
  toError,
} from '@eventloom/core';
import type { Runner, RunStream } from '@eventloom/runner';
import { BodyTooLargeError } from '../errors/body-too-large-error.ts';
import { SlowReaderError } from '../errors/slow-reader-error.ts';
import { errorBody } from '../http/error-body.ts';
import { type ClientFrame, parseBinaryFrame, parseTextFrame } from './client-frame.ts';
import { CALL_OVER, liveCloseOf } from './live-close.ts';
import type { LiveSocket, LiveSocketEvents } from './live-socket.ts';
import { LiveWriter, type LiveWriterOptions } from './live-writer.ts';

/** What a call is made of. */
export interface LiveCallParams extends LiveWriterOptions {
  readonly key: SessionKey;
  readonly runner: Runner;
  readonly runConfig: RunConfig;
  readonly socket: LiveSocket;
  readonly platform: Platform;
  /** Characters of a text frame and bytes of a binary one. */
  readonly maxFrame: number;
}

/** What may wait to be heard by the model; a client that can be made to wait is, from half of it on. */
const MAX_QUEUED_CHARS = 4 * 1024 * 1024;
/** Faulty frames in a row after which the client is let go. */
const MAX_FAULTY = 32;
/** Beats without a sign of life, or with nothing taken, after which the client is let go. */
const MAX_MISSED_BEATS = 2;
/** What a run gets to put things away when its client is gone. */
const GRACE_MS = 5000;

/** One WebSocket and the live run behind it: what the client says goes into the run's queue, what the run yields to the client. */
export class LiveCall implements LiveSocketEvents {
  readonly key: SessionKey;
  readonly #params: LiveCallParams;
  readonly #writer: LiveWriter;
  readonly #queue = new LiveRequestQueue({ maxChars: MAX_QUEUED_CHARS });
  readonly #stream: RunStream;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  /** Why the call ends before its run does. */
  #stopReason: EventloomError | undefined;
  #failure: Error | undefined;
  #isClosed = false;
  #isSpeaking = false;
  #isPaused = false;
  #wasHeard = true;
  #missedBeats = 0;
  #faulty = 0;
  #callOff: (() => void) | undefined;

  constructor(params: LiveCallParams) {
    const { key, runner, runConfig, socket } = params;
    this.key = key;
    this.#params = params;
    this.#writer = new LiveWriter(socket, params);
    this.#stream = runner.runLive({
      userId: key.userId,
      sessionId: key.sessionId,
      liveRequestQueue: this.#queue,
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
    const { maxFrame } = this.#params;
    if (frame.length > maxFrame) {
      this.#letGo(
        new BodyTooLargeError(`frame: is larger than the ${maxFrame} that this server takes; send smaller pieces`),
      );
      return;
    }
    try {
      this.#take(typeof frame === 'string' ? parseTextFrame(frame) : parseBinaryFrame(frame));
      this.#faulty = 0;
    } catch (error) {
      this.#tellFaulty(toError(error));
    }
  }

  taken(size: number): void {
    this.#writer.takenMore(size);
  }

  pong(): void {
    this.#wasHeard = true;
  }

  closed(): void {
    this.#hangUp();
  }

  /** Looks for a sign of life, and asks for the next. */
  beat(): void {
    if (this.#isClosed) return;
    const { answersPings, socket } = this.#params;
    const took = this.#writer.tookSinceLastBeat();
    const isWatched = answersPings || socket.ping !== undefined;
    // What a client says while it is made to wait, its pongs too, comes later.
    const isWell = this.#writer.hasRoom ? this.#wasHeard || !isWatched || this.#isPaused : took;
    this.#missedBeats = isWell ? 0 : this.#missedBeats + 1;
    this.#wasHeard = false;
    if (this.#missedBeats < MAX_MISSED_BEATS) this.#writer.ask();
    else this.#letGo(new SlowReaderError('the client took nothing and said nothing for so long that it was let go'));
  }

  /** Ends the call when the model has said its sentence. */
  stopAtTurn(reason: EventloomError): void {
    this.#stopReason ??= reason;
    if (!this.#isSpeaking) this.#queue.close();
  }

  /** Ends the call. What was said so far is stored. */
  stop(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#queue.close();
  }

  /** Ends the call at once. */
  abort(reason: EventloomError): void {
    this.#stopReason ??= reason;
    this.#controller.abort(this.#stopReason);
    this.#writer.unbind();
  }

  #take(said: ClientFrame): void {
    const queue = this.#queue;
    if ('blob' in said) queue.sendRealtime(said.blob);
    else if ('content' in said) queue.sendContent(said.content);
    else if ('activityStart' in said) queue.sendActivityStart();
    else if ('activityEnd' in said) queue.sendActivityEnd();
    else if ('close' in said) queue.close();
    else if ('pong' in said) this.#writer.answered(said.pong);
    else this.#answer(JSON.stringify({ pong: said.ping }));
    if (queue.chars >= MAX_QUEUED_CHARS / 2) this.#pause();
  }

  #pause(): void {
    const { socket } = this.#params;
    if (this.#isPaused || !socket.pause) return;
    this.#isPaused = true;
    socket.pause();
    void this.#queue.ready().then(() => {
      this.#isPaused = false;
      this.#wasHeard = true;
      socket.resume?.();
    });
  }

  /** The call goes on, unless there is no end of it. */
  #tellFaulty(error: Error): void {
    const { error: message, code } = errorBody(error);
    if (!EventloomError.isInstance(error) || ++this.#faulty > MAX_FAULTY) {
      this.#letGo(error);
      return;
    }
    const { platform, runner } = this.#params;
    const { invocationId } = this;
    const author = runner.agent.name;
    const id = platform.newEventId();
    const event = { id, invocationId, author, timestamp: platform.now() / 1000, partial: true };
    if (this.#mayAnswer()) this.#writer.write(createErrorEvent(event, code, message));
  }

  #answer(text: string): void {
    if (this.#mayAnswer()) this.#writer.say(text);
  }

  /** Nobody waits for room with an answer: a client that asks and does not read would fill the memory. */
  #mayAnswer(): boolean {
    const { hasRoom } = this.#writer;
    if (!hasRoom) this.#letGo(new SlowReaderError('the client asks and does not take what it is answered'));
    return hasRoom;
  }

  /** Closes the connection because of what the client does, or does not. */
  #letGo(reason: Error): void {
    this.#tellEnd(reason);
    this.#hangUp();
  }

  #tellEnd(failure: Error | undefined): void {
    if (this.#isClosed) return;
    if (failure) this.#writer.say(JSON.stringify(errorBody(failure)));
    const { code, reason } = failure ? liveCloseOf(failure) : CALL_OVER;
    this.#writer.close(code, reason);
  }

  /** The run comes to its end, in good order if it can. */
  #hangUp(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#writer.closed();
    this.#queue.close();
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
        if (this.#stopReason && !this.#isSpeaking) this.#queue.close();
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
