import type { Blob, Content } from '../content/content.ts';
import type { LlmResponse } from './llm-response.ts';

/** A live connection to a model: both sides speak when they like. */
export interface BaseLlmConnection {
  /** What was said before, once, at the start. */
  sendHistory(history: readonly Content[]): Promise<void>;
  /** A whole turn of the user's, or function responses. */
  sendContent(content: Content): Promise<void>;
  /** A piece of audio or video. */
  sendRealtime(blob: Blob): Promise<void>;
  sendActivityStart?(): Promise<void>;
  sendActivityEnd?(): Promise<void>;
  /** What the model says, until the connection ends. */
  receive(): AsyncGenerator<LlmResponse, void, void>;
  close(): Promise<void>;
}
