import { decodeBase64, type Event, InvalidRequestError, type Part, serializeEvent } from '@eventloom/core';
import type { LiveSocket } from '@eventloom/server';

/** How a client wants to be told, and how much may wait for it. */
export interface LiveFrameWriterOptions {
  /** True: audio goes as binary frames, before the event it belongs to. */
  readonly isAudioBinary: boolean;
  /** True: the client answers `{"ping": n}` with `{"pong": n}`. */
  readonly answersPings: boolean;
  /** Characters and bytes that may be under way. */
  readonly maxWaiting: number;
  /** Counts what may wait in memory where the socket does not tell. */
  readonly unconfirmed: UnconfirmedBytes;
}

/** What may be under way between two questions how far the client is. */
const PING_EVERY = 64 * 1024;

/**
 * Writes to a client, and knows how much of it is still under way. The runtime tells that where it can; otherwise the client does, with
 * its answers to pings. A client of which neither is told is believed to have all whenever it says something, until too much was sent on trust.
 */
export class LiveFrameWriter {
  readonly #socket: LiveSocket;
  readonly #options: LiveFrameWriterOptions;
  /** True where nobody says what is taken. */
  readonly #isBlind: boolean;
  #sent = 0;
  #taken = 0;
  /** What of it `unconfirmed` counts. */
  #counted = 0;
  #askedAt = 0;
  #takenAtBeat = 0;
  #isClosed = false;
  #isUnbounded = false;
  #room: PromiseWithResolvers<void> | undefined;

  constructor(socket: LiveSocket, options: LiveFrameWriterOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#isBlind = !options.answersPings && !socket.tellsTaken;
  }

  /** False while more is under way than may be. */
  get hasRoom(): boolean {
    return this.#isClosed || this.#isUnbounded || this.#sent - this.#taken < this.#options.maxWaiting;
  }

  /** True when so much was sent on trust that the call is to end. */
  get isTrustUsedUp(): boolean {
    return this.#isBlind && this.#options.unconfirmed.isTooMuch;
  }

  /** Settles when there is room again; undefined while there is. For one who waits at a time. */
  room(): Promise<void> | undefined {
    if (this.hasRoom) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  /** Writes an event: its audio first where that goes as binary frames, one for each part and in their order. */
  write(event: Event): void {
    if (this.#isClosed) return;
    if (this.#options.isAudioBinary) this.say(serializeEvent(this.#withoutAudio(event)));
    else this.say(serializeEvent(event));
  }

  /** Writes a text frame. */
  say(text: string): void {
    this.#send(text, text.length);
    if (this.#options.answersPings && this.#sent - this.#askedAt >= PING_EVERY) this.ask();
  }

  /** Asks the client how far it is. */
  ask(): void {
    if (this.#options.answersPings) {
      this.#askedAt = this.#sent;
      const text = `{"ping":${this.#sent}}`;
      this.#send(text, 0);
    } else if (!this.#isClosed) this.#socket.ping?.();
  }

  /** The runtime tells that so much more is on its way. Of a client that answers pings more is known. */
  takenMore(size: number): void {
    if (!this.#options.answersPings) this.#takenUpTo(this.#taken + size);
  }

  /** The client answered a ping. What it was not asked says nothing. */
  answered(ping: number): void {
    if (this.#options.answersPings && ping <= this.#askedAt) this.#takenUpTo(ping);
  }

  /** The client said something. */
  heard(): void {
    if (this.#isBlind && !this.isTrustUsedUp) this.#takenUpTo(this.#sent);
  }

  /** Whether the client took anything since this was last asked. */
  tookSinceLastBeat(): boolean {
    const took = this.#taken > this.#takenAtBeat;
    this.#takenAtBeat = this.#taken;
    return took;
  }

  /** The last that the client hears. What it did not take waits on until its socket is gone. */
  close(code: number, reason: string): void {
    if (!this.#isClosed) {
      this.#socket.close(code, reason);
      if (!this.#isBlind && !this.#socket.tellsTaken) this.#count(this.#sent - this.#taken);
    }
    this.closed();
  }

  /** Nothing waits any more. */
  gone(): void {
    this.#options.unconfirmed.remove(this.#counted);
    this.#counted = 0;
  }

  /** Nobody is to wait for room any more: what comes is little. */
  unbind(): void {
    this.#isUnbounded = true;
    this.#room?.resolve();
  }

  /** Nothing can be written any more. */
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

  /** Sends the audio of an event, and gives the event without. */
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

/** Undefined for what is no base64: it goes as the model said it. */
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
 * Counts the bytes that may still wait in memory, where the runtime does not report them. For a client that answers no pings, all that it
 * was sent, as long as its socket exists; for another client, what it had not confirmed when it was disconnected. One count for all live runs
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

  /** A socket is gone. */
  remove(bytes: number): void {
    this.#bytes -= bytes;
  }
}
