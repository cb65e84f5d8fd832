import { EventloomError } from '@eventloom/core';
import { BodyTooLargeError, type LiveSocket, type ServerLimits } from '@eventloom/server';
import type { CountLimits } from '@eventloom/server/internal';
import { LiveRequestQueue } from '../live-request-queue.ts';
import { type ClientFrame, parseBinaryFrame, parseTextFrame } from './client-frame.ts';

/** How much a client may say at once: characters of a text frame and bytes of a binary one, and what a message has in it. */
export type FrameLimits = CountLimits & Pick<ServerLimits, 'maxLiveFrameBytes'>;

/** Who is told of what a client says that is not for the model. */
export interface FrameHost {
  /** The client asks, and is to be told this. */
  answer(text: string): void;
  /** The client answers a ping. */
  answered(ping: number): void;
  /** A frame could not be taken. */
  refused(error: EventloomError): void;
}

/** What may wait to be heard by the model; a client that can be made to wait is, from half of it on. */
const MAX_QUEUED_CHARS = 4 * 1024 * 1024;
/** Faulty frames in a row that are borne with. */
const MAX_FAULTY = 32;

/** What a client says: frame by frame into the queue of its run. What it says after `close`, or while the server lets it go, is dropped. */
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

  /** True while the client is made to wait: what it says, its pongs too, comes later. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Takes a frame, or tells the host why not. @throws what the call is to end with: a frame too large, a fault too many */
  take(frame: string | Uint8Array): void {
    const limits = this.#limits;
    if (frame.length > limits.maxLiveFrameBytes) {
      throw new BodyTooLargeError(`frame: is larger than the ${limits.maxLiveFrameBytes} bytes that this server takes`);
    }
    try {
      this.#say(typeof frame === 'string' ? parseTextFrame(frame, limits) : parseBinaryFrame(frame));
      this.#faulty = 0;
    } catch (error) {
      if (!EventloomError.isInstance(error) || ++this.#faulty > MAX_FAULTY) throw error;
      this.#host.refused(error);
    }
  }

  #say(said: ClientFrame): void {
    const { queue } = this;
    if ('pong' in said) return this.#host.answered(said.pong);
    if ('ping' in said) return this.#host.answer(JSON.stringify({ pong: said.ping }));
    // Nobody hears a call that ends any more: a microphone that is still on is no fault.
    if (queue.isClosed) return;
    if ('blob' in said) queue.sendRealtime(said.blob);
    else if ('content' in said) queue.sendContent(said.content);
    else if ('activityStart' in said) queue.sendActivityStart();
    else if ('activityEnd' in said) queue.sendActivityEnd();
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
