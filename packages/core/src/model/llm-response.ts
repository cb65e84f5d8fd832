import type { Content } from '../content/content.ts';

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
  [key: string]: unknown;
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

/** A response of a model: a chunk (`partial`) or a whole reply. Every field is optional and copied to the event. */
export interface LlmResponse {
  content?: Content;
  /** True for a chunk, which contains only the content that is new since the previous chunk. */
  partial?: boolean;
  turnComplete?: boolean;
  interrupted?: boolean;
  /** Reason why the model stopped, as reported by the service: `STOP`, `MAX_TOKENS`, `SAFETY`, … */
  finishReason?: string;
  errorCode?: string;
  errorMessage?: string;
  usageMetadata?: UsageMetadata;
  groundingMetadata?: object;
  citationMetadata?: object;
  cacheMetadata?: object;
  logprobsResult?: object;
  avgLogprobs?: number;
  modelVersion?: string;
  customMetadata?: Record<string, unknown>;
  inputTranscription?: Transcription;
  outputTranscription?: Transcription;
  liveSessionResumptionUpdate?: { newHandle?: string; resumable?: boolean };
  /** Id that the chunks of one reply share with the event that merges them. */
  responseId?: string;
  alternatives?: AlternativeResponse[];
}
