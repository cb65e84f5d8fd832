import type { Content, VendorValue } from '../content/content.ts';

/** Token counts and times of one model call. */
export interface UsageMetadata {
  promptTokenCount?: number;
  candidatesTokenCount?: number;
  totalTokenCount?: number;
  cachedContentTokenCount?: number;
  thoughtsTokenCount?: number;
  toolUsePromptTokenCount?: number;
  timingInfo?: TimingInfo;
  /** Further counts of the service. */
  [key: string]: VendorValue;
}

/** Times of a model reply, on its final event. */
export interface TimingInfo {
  /** Time from the request to the first chunk with text, a thought or a call, in milliseconds. */
  timeToFirstTokenMs?: number;
  /** Time from the first thought chunk to the first other chunk, in milliseconds. Absent without streaming. */
  reasoningDurationMs?: number;
}

/** A transcription of speech. */
export interface Transcription {
  text?: string;
  /** False while more pieces of the transcription follow. */
  finished?: boolean;
}

/** Details of an error event. `type` and `message` equal the ADK's `errorCode` and `errorMessage`. */
export interface ErrorInfo {
  type: string;
  message: string;
  code?: string;
  param?: string;
}

/** A further candidate of a reply. The first candidate is the event's `content`. */
export interface AlternativeResponse {
  index: number;
  content?: Content;
  finishReason?: string;
}

/**
 * A response of a model: a whole reply, or a chunk of one (`partial: true`). All fields are optional. The agent's event
 * has the same fields.
 */
export interface LlmResponse {
  /** The reply, or the new piece of it with `partial`. */
  content?: Content;
  /** True for a chunk, which contains only the content that is new since the previous chunk. */
  partial?: boolean;
  /** In live runs: true when the model has finished its turn. */
  turnComplete?: boolean;
  /** In live runs: true when the user interrupted the model; playback should stop. */
  interrupted?: boolean;
  /** Reason why the model stopped, as reported by the service: `STOP`, `MAX_TOKENS`, `SAFETY`, … */
  finishReason?: string;
  /**
   * Code of a failure, such as `MAX_TOKENS` or `UNAVAILABLE`. The response may also have the content that was received
   * before the failure.
   */
  errorCode?: string;
  /** Description of the failure, for people. */
  errorMessage?: string;
  /** Token counts and times of the call. */
  usageMetadata?: UsageMetadata;
  /** Sources of the reply, for example of Google Search. */
  groundingMetadata?: object;
  /** Citations in the reply, as the service reports them. */
  citationMetadata?: object;
  /** The pages that the model's service read for the reply (URL context). */
  urlContextMetadata?: object;
  /** The context cache that the request used, see `CacheMetadata`. */
  cacheMetadata?: object;
  /** Log probabilities of the tokens, if the request asked for them. */
  logprobsResult?: object;
  /** Average log probability of the tokens. */
  avgLogprobs?: number;
  /** The version of the model that answered. */
  modelVersion?: string;
  /** JSON data of the application. */
  customMetadata?: Record<string, unknown>;
  /** In live runs: the user's speech as text. */
  inputTranscription?: Transcription;
  /** In live runs: the model's speech as text. */
  outputTranscription?: Transcription;
  /** In live runs with `sessionResumption`: the handle with which another connection can continue from here. */
  liveSessionResumptionUpdate?: { newHandle?: string; resumable?: boolean };
  /**
   * Id that the chunks of one reply share with the event that merges them. The event of a graph node with the answer of
   * an agent has the id of that reply, or of the event with the answer if the reply has none.
   */
  responseId?: string;
  /** Further replies to the same request, if it asked for several. */
  alternatives?: AlternativeResponse[];
}
