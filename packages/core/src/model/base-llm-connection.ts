import type { Blob, Content, FunctionResponse } from '../content/content.ts';
import type { LlmResponse } from './llm-response.ts';

/** A response of a live connection: output of the model, or news about the connection from the service. */
export interface LiveLlmResponse extends LlmResponse {
  /** The model has said all of its reply; audio of it may still be played. `turnComplete` follows. */
  generationComplete?: boolean;
  /** Calls that the model takes back, because the user cut in. */
  toolCallCancellation?: { ids: string[] };
  /** The service will end the connection after this time. */
  goAway?: { timeLeftMs?: number };
  /**
   * With a new handle: the number of sends on this connection, from its first, that the handle covers. A connection
   * that resumes with the handle must send the later ones again. Absent if the service does not report it.
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
   * Sends the history, once, at the start. The model answers a history that ends with the user's words or with
   * responses to calls.
   * @param isWaiting true if the calls at its end have no responses yet, so that the model does not answer
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
   * Yields the output of the model: one response for each message of the service, in order, with all that the message
   * contains. Text and transcriptions come in the pieces of the service, never merged. May be read once, by one reader.
   * Ends after `close`.
   * @throws LiveConnectionError if the connection ends in another way
   */
  receive(): AsyncGenerator<LiveLlmResponse, void, void>;
  /** Ends the connection. What was sent before is on its way. A second call is a no-op. */
  close(): Promise<void>;
}
