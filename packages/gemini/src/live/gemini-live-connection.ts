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
import type { LiveInbox } from './live-inbox.ts';
import type { WatchedConnection } from './watched-connection.ts';

/** What a connection that is set up consists of. */
export interface GeminiLiveConnectionParams {
  readonly session: LiveSession;
  readonly connection: WatchedConnection;
  readonly inbox: LiveInbox;
  readonly vertexai: boolean;
  readonly platform: Platform;
  /** What it ended with, undefined while it is open. */
  readonly failure: () => unknown;
  /** It is closed from this side. */
  readonly onClose: () => void;
}

/** A send waits while so many bytes are on their way: some seconds of speech. */
const MAX_BUFFERED_BYTES = 256 * 1024;
/** How often it is looked whether they went, since no runtime tells. */
const DRAIN_CHECK_MS = 20;

/** A live connection to Gemini. */
export class GeminiLiveConnection implements BaseLlmConnection {
  readonly #params: GeminiLiveConnectionParams;
  #isRead = false;
  #isClosed = false;

  constructor(params: GeminiLiveConnectionParams) {
    this.#params = params;
  }

  async sendHistory(history: readonly Content[]): Promise<void> {
    const turns = history.map((content) => toWireContent(content, this.#params.vertexai));
    if (turns.length === 0) return;
    const turnComplete = turns.at(-1)?.role !== 'model';
    await this.#send((session) => session.sendClientContent({ turns, turnComplete }));
  }

  async sendContent(content: Content): Promise<void> {
    const responses = content.parts?.flatMap(({ functionResponse }) => functionResponse ?? []) ?? [];
    if (responses.length > 0 && responses.length === content.parts?.length) return this.sendToolResponses(responses);
    const turns = [toWireContent({ role: 'user', ...content }, this.#params.vertexai)];
    await this.#send((session) => session.sendClientContent({ turns, turnComplete: true }));
  }

  async sendToolResponses(responses: readonly FunctionResponse[]): Promise<void> {
    const functionResponses = responses.map((response) => toWireFunctionResponse(response, this.#params.vertexai));
    await this.#send((session) => session.sendToolResponse({ functionResponses }));
  }

  async sendRealtime(blob: Blob): Promise<void> {
    const wire = toWireBlob(blob, this.#params.vertexai);
    const type = wire.mimeType ?? '';
    await this.#send((session) => {
      if (type.startsWith('audio/')) session.sendRealtimeInput({ audio: wire });
      else if (type.startsWith('image/')) session.sendRealtimeInput({ video: wire });
      else session.sendRealtimeInput({ media: wire });
    });
  }

  async sendActivityStart(): Promise<void> {
    await this.#send((session) => session.sendRealtimeInput({ activityStart: {} }));
  }

  async sendActivityEnd(): Promise<void> {
    await this.#send((session) => session.sendRealtimeInput({ activityEnd: {} }));
  }

  async *receive(): AsyncGenerator<LiveLlmResponse, void, void> {
    if (this.#isRead) throw new LiveConnectionError('a live connection is read once', { isRetryable: false });
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

  /** Sends now, so that sends keep their order, and then waits for room. */
  async #send(say: (session: LiveSession) => void): Promise<void> {
    this.#throwIfOver();
    try {
      say(this.#params.session);
    } catch (cause) {
      if (EventloomError.isInstance(cause)) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new InvalidMessageError(`gemini: this cannot be sent in a live connection: ${reason}`, { cause });
    }
    const { connection, platform } = this.#params;
    while (connection.bufferedBytes > MAX_BUFFERED_BYTES) {
      const { promise, resolve } = Promise.withResolvers<void>();
      platform.schedule(DRAIN_CHECK_MS, resolve);
      await promise;
      this.#throwIfOver();
    }
  }

  #throwIfOver(): void {
    if (this.#isClosed) throw new LiveConnectionError('the live connection is closed', { isRetryable: false });
    const failure = this.#params.failure();
    if (failure !== undefined) throw failure;
  }
}
