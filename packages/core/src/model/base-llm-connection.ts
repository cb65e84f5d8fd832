import type { Blob, Content, FunctionResponse } from '../content/content.ts';
import type { LlmResponse } from './llm-response.ts';

/** A response of a live connection: output of the model, or news about the connection from the service. */
export interface LiveLlmResponse extends LlmResponse {
  /** True once the reply is complete; its audio may still be playing. `turnComplete` follows. */
  generationComplete?: boolean;
  /** Calls that the model cancels because the user interrupted it. */
  toolCallCancellation?: { ids: string[] };
  /** The service will end the connection after this time. */
  goAway?: { timeLeftMs?: number };
  /**
   * Sent with a new handle: the number of sends on this connection, from its first, that the handle covers. A connection
   * that resumes with the handle must send the later ones again. Absent if the service does not report it.
   */
  consumedSends?: number;
}

/**
 * A live connection to a model, on which both sides send at any time. Sends keep the order of their calls, and resolve once the
 * connection has accepted the data.
 */
export interface BaseLlmConnection {
  /** True if a non-blocking call can be answered with several responses (`willContinue`). */
  readonly takesInterimResponses?: boolean | undefined;
  /** True if the service accepts responses only to calls with an id. Results of other calls are sent as text. */
  readonly needsCallIds?: boolean | undefined;
  /** True if the service reports `consumedSends` with its handles. */
  readonly tellsConsumed?: boolean | undefined;
  /**
   * Sends the history, once, at the start. The model answers a history that ends with the user's words or with
   * responses to calls.
   * @param isWaiting true if the calls at its end have no responses yet, so that the model does not answer
   */
  sendHistory(history: readonly Content[], isWaiting?: boolean): Promise<void>;
  /** Sends a whole turn of the user. */
  sendContent(content: Content): Promise<void>;
  /**
   * Sends responses to the model's calls. With `willContinue` more responses of the same call follow. Absent: `sendContent` sends them, as
   * the parts of one content.
   */
  sendToolResponses?(responses: readonly FunctionResponse[]): Promise<void>;
  /** Sends a piece of audio or video. */
  sendRealtime(blob: Blob): Promise<void>;
  /** Reports that the user began to speak. Absent if the service detects that itself. */
  sendActivityStart?(): Promise<void>;
  /** Reports that the user has finished speaking. Absent if the service detects that itself. */
  sendActivityEnd?(): Promise<void>;
  /**
   * Yields the output of the model: one response for each message of the service, in order, with all that the message
   * contains. Text and transcriptions come in the pieces of the service, and are merged by the run. A connection that merges them itself
   * marks the pieces with `partial: true` and sends the whole after them. May be read once, by one reader. Ends after `close`, or when the
   * service hangs up: then the agent's part of the run ends.
   * @throws LiveConnectionError if the connection is lost or refused. The run opens another one if it is retryable
   */
  receive(): AsyncGenerator<LiveLlmResponse, void, void>;
  /** Closes the connection after the earlier sends. A second call is a no-op. */
  close(): Promise<void>;
}
