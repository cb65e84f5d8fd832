import { EventloomError } from '@eventloom/core';
import { BodyTooLargeError, type LiveSocket, type ServerLimits } from '@eventloom/server';
import type { CountLimits } from '@eventloom/server/internal';
import { LiveRequestQueue } from '../live-request-queue.ts';
import { type ClientFrame, parseBinaryFrame, parseTextFrame } from './client-frame.ts';

/** The limits of a client's frames: characters of a text frame, bytes of a binary frame, and the entries of a message. */
export type FrameLimits = CountLimits & Pick<ServerLimits, 'maxLiveFrameBytes'>;

/** A frame that is not for the model: a ping of the client, its answer to a ping, or a faulty frame. */
type ControlFrame =
  | Extract<ClientFrame, { readonly ping: unknown }>
  | Extract<ClientFrame, { readonly pong: number }>
  | { readonly fault: EventloomError };

/** Maximum number of characters that may wait for the model. A client that can be paused is paused at half of it. */
const MAX_QUEUED_CHARS = 4 * 1024 * 1024;
/** Maximum number of faulty frames in a row that do not end the run. */
const MAX_FAULTY = 32;

/** Reads a client's frames into the queue of its run. Frames after `close`, or while the run ends, are dropped. */
export class LiveFrameReader {
  readonly queue = new LiveRequestQueue({ maxChars: MAX_QUEUED_CHARS });
  readonly #socket: LiveSocket;
  readonly #limits: FrameLimits;
  #isPaused = false;
  #faulty = 0;

  constructor(socket: LiveSocket, limits: FrameLimits) {
    this.#socket = socket;
    this.#limits = limits;
  }

  /** True while the client is paused: its frames, pongs included, come later. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /**
   * Puts a frame into the queue, or returns it if it is not for the model.
   * @throws BodyTooLargeError, or the fault after too many, which ends the run
   */
  take(frame: string | Uint8Array): ControlFrame | undefined {
    const limits = this.#limits;
    if (frame.length > limits.maxLiveFrameBytes) {
      throw new BodyTooLargeError(
        `frame: is larger than the ${limits.maxLiveFrameBytes} bytes that this server accepts`,
      );
    }
    try {
      const parsed = typeof frame === 'string' ? parseTextFrame(frame, limits) : parseBinaryFrame(frame);
      if (!('pong' in parsed) && !('ping' in parsed)) this.#enqueue(parsed);
      this.#faulty = 0;
      return 'pong' in parsed || 'ping' in parsed ? parsed : undefined;
    } catch (error) {
      if (!EventloomError.isInstance(error) || ++this.#faulty > MAX_FAULTY) throw error;
      return { fault: error };
    }
  }

  #enqueue(frame: Exclude<ClientFrame, ControlFrame>): void {
    const { queue } = this;
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
