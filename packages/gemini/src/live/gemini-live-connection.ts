import {
  type BaseLlmConnection,
  type Blob,
  type Content,
  EventloomError,
  type FunctionResponse,
  InvalidMessageError,
  LiveConnectionError,
  type LiveLlmResponse,
  type Platform,
} from '@eventloom/core';
import type { LiveSession } from '../client/genai-client.ts';
import { toWireBlob, toWireContent, toWireFunctionResponse } from '../request/to-wire-contents.ts';
import type { CountedSends } from './counted-sends.ts';
import { isSayable, type LiveDialect, splitHistory } from './live-dialect.ts';
import type { LiveInbox } from './live-inbox.ts';
import type { WatchedConnection } from './watched-connection.ts';

/** The parts of a connection that is set up. */
interface GeminiLiveConnectionParams {
  readonly session: LiveSession;
  readonly connection: WatchedConnection;
  readonly inbox: LiveInbox;
  readonly vertexai: boolean;
  readonly dialect: LiveDialect;
  /** Counts sends, if the service reports how many it consumed. */
  readonly sends: CountedSends | undefined;
  /** True if the setup announced a history: the service waits for it. */
  readonly isPastAwaited: boolean;
  readonly platform: Platform;
  /** Returns the error that the connection ended with; undefined while it is open. */
  readonly failure: () => EventloomError | undefined;
  /** Called when the network accepts no more bytes. */
  readonly onStall: () => void;
  /** Called when this side closes the connection. */
  readonly onClose: () => void;
}

/** A send waits while this many bytes are unsent: some seconds of speech. */
const MAX_BUFFERED_BYTES = 256 * 1024;
/** Interval at which buffered bytes are checked, since no runtime has an event for it. */
const DRAIN_CHECK_MS = 20;
/** A network that accepts no bytes for this time is lost; the runtime would report it only after a quarter of an hour. */
const STALL_MS = 15_000;

/** A live connection to Gemini. */
export class GeminiLiveConnection implements BaseLlmConnection {
  readonly #params: GeminiLiveConnectionParams;
  #isRead = false;
  #isClosed = false;
  #isPastAwaited: boolean;

  constructor(params: GeminiLiveConnectionParams) {
    this.#params = params;
    this.#isPastAwaited = params.isPastAwaited;
  }

  /** False on Vertex AI, which accepts one response to a call. */
  get takesInterimResponses(): boolean {
    return !this.#params.vertexai;
  }

  /** True for the Gemini API: the client refuses to send it a response without the id of its call. */
  get needsCallIds(): boolean {
    return !this.#params.vertexai;
  }

  get tellsConsumed(): boolean {
    return this.#params.sends !== undefined;
  }

  sendHistory(history: readonly Content[], isWaiting = false): Promise<void> {
    return this.#counted(() => this.#sendHistory(history, isWaiting));
  }

  sendContent(content: Content): Promise<void> {
    return this.#counted(() => this.#sendContent(content));
  }

  sendToolResponses(responses: readonly FunctionResponse[]): Promise<void> {
    return this.#counted(() => this.#sendToolResponses(responses));
  }

  sendRealtime(blob: Blob): Promise<void> {
    return this.#counted(() => this.#sendRealtime(blob));
  }

  sendActivityStart(): Promise<void> {
    return this.#counted(() => this.#send((session) => session.sendRealtimeInput({ activityStart: {} })));
  }

  sendActivityEnd(): Promise<void> {
    return this.#counted(() => this.#send((session) => session.sendRealtimeInput({ activityEnd: {} })));
  }

  async #sendHistory(history: readonly Content[], isWaiting: boolean): Promise<void> {
    if (history.length === 0) return;
    if (this.#params.dialect === 'turns')
      return this.#sendTurns(history, history.at(-1)?.role !== 'model' && !isWaiting);
    const { context, said } = splitHistory(history);
    this.#isPastAwaited = false;
    await Promise.all([context.length > 0 && this.#sendTurns(context, true), said && this.#sayParts(said)]);
  }

  async #sendContent(content: Content): Promise<void> {
    const responses = content.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
    if (responses.length > 0 && responses.length === content.parts?.length) return this.#sendToolResponses(responses);
    if (this.#params.dialect === 'realtime') return this.#sayParts(content);
    await this.#sendTurns([{ role: 'user', ...content }], true);
  }

  async #sendToolResponses(responses: readonly FunctionResponse[]): Promise<void> {
    const functionResponses = responses.map((response) => toWireFunctionResponse(response, this.#params.vertexai));
    await this.#send((session) => session.sendToolResponse({ functionResponses }));
  }

  async #sendRealtime(blob: Blob): Promise<void> {
    const wire = toWireBlob(blob, this.#params.vertexai);
    const type = wire.mimeType ?? '';
    await this.#send((session) => {
      if (type.startsWith('audio/')) session.sendRealtimeInput({ audio: wire });
      else if (type.startsWith('image/')) session.sendRealtimeInput({ video: wire });
      else session.sendRealtimeInput({ media: wire });
    });
  }

  async *receive(): AsyncGenerator<LiveLlmResponse, void, void> {
    if (this.#isRead) throw new LiveConnectionError('a live connection can be read only once', { isRetryable: false });
    this.#isRead = true;
    const { inbox } = this.#params;
    for (let response = await inbox.take(); response; response = await inbox.take()) yield response;
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#params.connection.close();
      this.#params.onClose();
    }
    return Promise.resolve();
  }

  #sendTurns(contents: readonly Content[], turnComplete: boolean): Promise<void> {
    const turns = contents.map((content) => toWireContent(content, this.#params.vertexai));
    return this.#send((session) => session.sendClientContent({ turns, turnComplete }));
  }

  /** Sends the parts of a turn as realtime input, one by one. */
  async #sayParts(content: Content): Promise<void> {
    if (!isSayable(content))
      throw new InvalidMessageError('gemini: this model accepts only text, audio and images in a live connection');
    const { parts = [] } = content;
    await Promise.all(
      parts.map(({ text = '', inlineData }) =>
        inlineData ? this.#sendRealtime(inlineData) : this.#send((session) => session.sendRealtimeInput({ text })),
      ),
    );
  }

  /** Counts all messages of `send` as one send. They are written synchronously, so that sends are counted in order. */
  #counted(send: () => Promise<void>): Promise<void> {
    const { sends } = this.#params;
    const before = sends?.messages;
    const sent = send();
    if (sends && sends.messages !== before) sends.end();
    return sent;
  }

  /** Sends synchronously, so that sends keep their order, and then waits for room. */
  async #send(say: (session: LiveSession) => void): Promise<void> {
    this.#throwIfClosed();
    try {
      const { session } = this.#params;
      if (this.#isPastAwaited) {
        // No history was sent: this ends the service's wait for it.
        this.#isPastAwaited = false;
        session.sendClientContent({ turnComplete: true });
        this.#params.sends?.add();
      }
      say(session);
      this.#params.sends?.add();
    } catch (cause) {
      if (EventloomError.isInstance(cause)) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new InvalidMessageError(`gemini: this cannot be sent in a live connection: ${reason}`, { cause });
    }
    if (this.#params.connection.bufferedBytes > MAX_BUFFERED_BYTES) await this.#room();
  }

  async #room(): Promise<void> {
    const { connection, platform, onStall } = this.#params;
    let least = Infinity;
    let progressAt = platform.now();
    for (let buffered = connection.bufferedBytes; buffered > MAX_BUFFERED_BYTES; buffered = connection.bufferedBytes) {
      if (buffered < least) progressAt = platform.now();
      else if (platform.now() - progressAt >= STALL_MS) onStall();
      least = Math.min(least, buffered);
      this.#throwIfClosed();
      const { promise, resolve } = Promise.withResolvers<void>();
      platform.schedule(DRAIN_CHECK_MS, resolve);
      await promise;
      this.#throwIfClosed();
    }
  }

  #throwIfClosed(): void {
    if (this.#isClosed) throw new LiveConnectionError('the live connection is closed', { isRetryable: false });
    const failure = this.#params.failure();
    if (failure) throw failure;
  }
}
