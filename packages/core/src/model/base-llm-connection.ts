import type { Blob, Content, FunctionResponse } from '../content/content.ts';
import type { LlmResponse } from './llm-response.ts';

/** What a live connection gives: what the model says, and what the service says of the connection. */
export interface LiveLlmResponse extends LlmResponse {
  /** The model has said all of its reply; audio of it may still be played. `turnComplete` follows. */
  generationComplete?: boolean;
  /** Calls that the model takes back, because the user cut in. */
  toolCallCancellation?: { ids: string[] };
  /** The service will end the connection after this time. */
  goAway?: { timeLeftMs?: number };
  /**
   * With a new handle: how many of the sends on this connection, from its first, are in what the handle stands for. Those after it are to
   * be sent again to whoever goes on with the handle. Absent where the service does not tell.
   */
  consumedSends?: number;
}

/**
 * A live connection to a model: both sides speak when they like. Sends are kept in the order in which they are called, and resolve
 * when the connection has taken what they send.
 */
export interface BaseLlmConnection {
  /** True when a call that does not keep the model from speaking can be answered in several responses (`willContinue`). */
  readonly takesInterimResponses?: boolean | undefined;
  /** True when the service takes responses only to calls that have an id, and what comes of others is to be told in words. */
  readonly needsCallIds?: boolean | undefined;
  /** True when the service tells with its handles what of the sends it consumed (`consumedSends`). */
  readonly tellsConsumed?: boolean | undefined;
  /**
   * What was said before, once, at the start. A history that ends with the user's words, or with what came of calls, is answered.
   * @param isWaiting the calls that it ends with have nothing to be answered yet: it is not
   */
  sendHistory(history: readonly Content[], isWaiting?: boolean): Promise<void>;
  /** A whole turn of the user's. */
  sendContent(content: Content): Promise<void>;
  /** Answers to the model's calls. With `willContinue` more of the same call follow. */
  sendToolResponses(responses: readonly FunctionResponse[]): Promise<void>;
  /** A piece of audio or video. */
  sendRealtime(blob: Blob): Promise<void>;
  sendActivityStart(): Promise<void>;
  sendActivityEnd(): Promise<void>;
  /**
   * What the model says, a response for each message of the service that tells something, with all that it tells, and in its order:
   * text and transcriptions as the pieces they come in, never merged. Read once, by one reader. Ends after `close`.
   * @throws LiveConnectionError when the connection ends otherwise
   */
  receive(): AsyncGenerator<LiveLlmResponse, void, void>;
  /** Ends the connection. What was sent before is on its way. A second call is a no-op. */
  close(): Promise<void>;
}
