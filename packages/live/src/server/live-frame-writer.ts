import { decodeBase64, type Event, InvalidRequestError, type Part, serializeEvent } from '@eventloom/core';
import type { LiveSocket } from '@eventloom/server';

/** The format that the client requested, and the limits of waiting bytes. */
export interface LiveFrameWriterOptions {
  /** True: audio goes as binary frames, before the event it belongs to. */
  readonly isAudioBinary: boolean;
  /** True: the client answers `{"ping": n}` with `{"pong": n}`. */
  readonly answersPings: boolean;
  /** Maximum number of characters and bytes that may be in flight. */
  readonly maxWaiting: number;
  /** Counts the bytes that may wait in memory, where the socket does not report them. */
  readonly unconfirmed: UnconfirmedBytes;
}

/** Maximum number of characters and bytes that are sent between two pings. */
const PING_EVERY = 64 * 1024;

/**
 * Writes frames to a client, and tracks the bytes in flight: as the runtime reports them, otherwise by the client's answers to pings.
 * Without either, every frame of the client counts as an acknowledgement of everything, until too many bytes are unacknowledged.
 */
export class LiveFrameWriter {
  readonly #socket: LiveSocket;
  readonly #options: LiveFrameWriterOptions;
  /** True where neither the runtime nor the client confirms anything. */
  readonly #isBlind: boolean;
  #sent = 0;
  #taken = 0;
  /** The part of `#sent` that `unconfirmed` counts. */
  #counted = 0;
  #askedAt = 0;
  #takenAtBeat = 0;
  #isClosed = false;
  #isUnbounded = false;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(socket: LiveSocket, options: LiveFrameWriterOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#isBlind = !options.answersPings && !socket.reportsTaken;
  }

  /** False while too much is in flight. */
  get hasRoom(): boolean {
    return this.#isClosed || this.#isUnbounded || this.#sent - this.#taken < this.#options.maxWaiting;
  }

  /** True if so many bytes are unacknowledged that the run must end. */
  get hasTooMuchUnconfirmed(): boolean {
    return this.#isBlind && this.#options.unconfirmed.isTooMuch;
  }

  /** Resolves when there is room again; undefined while there is. For one waiter at a time. */
  room(): Promise<void> | undefined {
    if (this.hasRoom) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Writes an event: its audio first, where audio goes as binary frames, one for each part and in order. */
  write(event: Event): void {
    if (this.#isClosed) return;
    if (this.#options.isAudioBinary) this.writeText(serializeEvent(this.#withoutAudio(event)));
    else this.writeText(serializeEvent(event));
  }

  /** Writes a text frame. */
  writeText(text: string): void {
    this.#send(text, text.length);
    if (this.#options.answersPings && this.#sent - this.#askedAt >= PING_EVERY) this.ping();
  }

  /** Sends a ping. */
  ping(): void {
    if (this.#options.answersPings) {
      this.#askedAt = this.#sent;
      const text = `{"ping":${this.#sent}}`;
      this.#send(text, 0);
    } else if (!this.#isClosed) this.#socket.ping?.();
  }

  /** Notes that the runtime has sent this many more bytes. Ignored for a client that answers pings, which is more exact. */
  takenMore(size: number): void {
    if (!this.#options.answersPings) this.#takenUpTo(this.#taken + size);
  }

  /** Notes the client's answer to a ping. An answer to a ping that was not sent is ignored. */
  answered(ping: number): void {
    if (this.#options.answersPings && ping <= this.#askedAt) this.#takenUpTo(ping);
  }

  /** Notes a frame of the client. */
  frameReceived(): void {
    if (this.#isBlind && !this.hasTooMuchUnconfirmed) this.#takenUpTo(this.#sent);
  }

  /** Returns whether the client took anything since the last call. */
  tookSinceLastBeat(): boolean {
    const took = this.#taken > this.#takenAtBeat;
    this.#takenAtBeat = this.#taken;
    return took;
  }

  /** Closes the socket. Unread frames wait until the socket is closed. */
  close(code: number, reason: string): void {
    if (!this.#isClosed) {
      this.#socket.close(code, reason);
      if (!this.#isBlind && !this.#socket.reportsTaken) this.#count(this.#sent - this.#taken);
    }
    this.closed();
  }

  /** Records that the socket is closed and its waiting bytes are dropped. */
  gone(): void {
    this.#options.unconfirmed.remove(this.#counted);
    this.#counted = 0;
  }

  /** Lifts the limit, for the few last frames. */
  unbind(): void {
    this.#isUnbounded = true;
    this.#room?.resolve();
  }

  /** Notes that nothing can be written. */
  closed(): void {
    this.#isClosed = true;
    this.#room?.resolve();
  }

  #takenUpTo(count: number): void {
    if (count <= this.#taken) return;
    this.#taken = count;
    if (!this.hasRoom) return;
    this.#room?.resolve();
    this.#room = undefined;
  }

  #send(frame: string | Uint8Array<ArrayBuffer>, size: number): void {
    if (this.#isClosed) return;
    this.#sent += size;
    if (this.#isBlind) this.#count(size);
    this.#socket.send(frame);
  }

  #count(size: number): void {
    this.#counted += size;
    this.#options.unconfirmed.add(size);
  }

  /** Sends the audio of an event, and returns the event without it. */
  #withoutAudio(event: Event): Event {
    const { content } = event;
    const parts = content?.parts;
    if (!content || !parts?.some(isAudio)) return event;
    const bare = parts.map((part) => {
      if (!isAudio(part)) return part;
      const { data, ...inlineData } = part.inlineData;
      const bytes = bytesOf(data);
      if (!bytes) return part;
      this.#send(bytes, bytes.length);
      return { ...part, inlineData };
    });
    return { ...event, content: { ...content, parts: bare } };
  }
}

/** Returns undefined for data that is not base64: it is sent as it is. */
function bytesOf(data: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return decodeBase64(data);
  } catch (error) {
    if (!InvalidRequestError.isInstance(error)) throw error;
    return undefined;
  }
}

function isAudio(part: Part): part is Part & { inlineData: { data: string } } {
  const { data, mimeType } = part.inlineData ?? {};
  return data !== undefined && mimeType?.startsWith('audio/') === true;
}

/**
 * Counts the bytes that may still be in memory, if the runtime does not report them. For a client that answers no pings, all sent bytes as
 * long as its socket exists; for another client, the bytes that were unacknowledged when it was disconnected. One count for all live runs
 * of a server, because they share that memory.
 */
export class UnconfirmedBytes {
  readonly #max: number;
  #bytes = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get isTooMuch(): boolean {
    return this.#bytes >= this.#max;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Removes the bytes of a closed socket. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}
