import { EventloomError } from '@eventloom/core';
import { BodyTooLargeError, type LiveSocket, type ServerLimits } from '@eventloom/server';
import type { CountLimits } from '@eventloom/server/internal';
import { LiveRequestQueue } from '../live-request-queue.ts';
import { type ClientFrame, parseBinaryFrame, parseTextFrame } from './client-frame.ts';

/** The limits of a client's frames: characters of a text frame, bytes of a binary frame, and the entries of a message. */
export type FrameLimits = CountLimits & Pick<ServerLimits, 'maxLiveFrameBytes'>;

/** Handles the frames of a client that are not for the model. */
interface FrameHost {
  /** Sends the answer to a ping of the client. */
  answer(text: string): void;
  /** Notes the client's answer to a ping. */
  answered(ping: number): void;
  /** Reports a frame that is refused. */
  refused(error: EventloomError): void;
}

/** Maximum number of characters that may wait for the model. A client that can be paused is paused at half of it. */
const MAX_QUEUED_CHARS = 4 * 1024 * 1024;
/** Maximum number of faulty frames in a row that do not end the run. */
const MAX_FAULTY = 32;

/** Reads a client's frames into the queue of its run. Frames after `close`, or while the run ends, are dropped. */
export class LiveFrameReader {
  readonly queue = new LiveRequestQueue({ maxChars: MAX_QUEUED_CHARS });
  readonly #socket: LiveSocket;
  readonly #limits: FrameLimits;
  readonly #host: FrameHost;
  #isPaused = false;
  #faulty = 0;

  constructor(socket: LiveSocket, limits: FrameLimits, host: FrameHost) {
    this.#socket = socket;
    this.#limits = limits;
    this.#host = host;
  }

  /** True while the client is paused: its frames, pongs included, come later. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Takes a frame, or reports why not. @throws BodyTooLargeError, or the fault after too many, which ends the run */
  take(frame: string | Uint8Array): void {
    const limits = this.#limits;
    if (frame.length > limits.maxLiveFrameBytes) {
      throw new BodyTooLargeError(
        `frame: is larger than the ${limits.maxLiveFrameBytes} bytes that this server accepts`,
      );
    }
    try {
      this.#enqueue(typeof frame === 'string' ? parseTextFrame(frame, limits) : parseBinaryFrame(frame));
      this.#faulty = 0;
    } catch (error) {
      if (!EventloomError.isInstance(error) || ++this.#faulty > MAX_FAULTY) throw error;
      this.#host.refused(error);
    }
  }

  #enqueue(frame: ClientFrame): void {
    const { queue } = this;
    if ('pong' in frame) return this.#host.answered(frame.pong);
    if ('ping' in frame) return this.#host.answer(JSON.stringify({ pong: frame.ping }));
    // A microphone that is still on while the run ends is not a fault.
    if (queue.isClosed) return;
    if ('blob' in frame) queue.sendRealtime(frame.blob);
    else if ('content' in frame) queue.sendContent(frame.content);
    else if ('activityStart' in frame) queue.sendActivityStart();
    else if ('activityEnd' in frame) queue.sendActivityEnd();
    else queue.close();
    if (queue.chars >= MAX_QUEUED_CHARS / 2) this.#pause();
  }

  #pause(): void {
    if (this.#isPaused || !this.#socket.pause) return;
    this.#isPaused = true;
    this.#socket.pause();
    void this.queue.ready().then(() => {
      this.#isPaused = false;
      this.#socket.resume?.();
    });
  }
}
