import type { Content } from '../content/content.ts';

/** Token counts of one model call, and how long it took. */
export interface UsageMetadata {
  promptTokenCount?: number;
  candidatesTokenCount?: number;
  totalTokenCount?: number;
  cachedContentTokenCount?: number;
  thoughtsTokenCount?: number;
  toolUsePromptTokenCount?: number;
  timingInfo?: TimingInfo;
  /** Whatever else the service counts. */
  [key: string]: unknown;
}

/** On the final event of a model reply. */
export interface TimingInfo {
  /** From the request to the first chunk that carries text, a thought or a call; milliseconds. */
  timeToFirstTokenMs?: number;
  /** Time from the first thought chunk to the first other chunk, in milliseconds. Absent without streaming. */
  reasoningDurationMs?: number;
}

/** Speech turned to text. */
export interface Transcription {
  text?: string;
  /** False while more of it comes. */
  finished?: boolean;
}

/** The error of an event in full; `errorCode` and `errorMessage` hold the same in the ADK's two fields. */
export interface ErrorInfo {
  type: string;
  message: string;
  code?: string;
  param?: string;
}

/** One more candidate of a reply; the first is the event's own `content`. */
export interface AlternativeResponse {
  index: number;
  content?: Content;
  finishReason?: string;
}

/** A response of a model: a chunk (`partial`) or a whole reply. Every field is optional and copied to the event. */
export interface LlmResponse {
  content?: Content;
  /** A chunk: only what is new since the one before. */
  partial?: boolean;
  turnComplete?: boolean;
  interrupted?: boolean;
  /** The reason for which the model stopped, in the service's words: `STOP`, `MAX_TOKENS`, `SAFETY`, … */
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
  /** Joins the chunks of one reply with the event that merges them. */
  responseId?: string;
  alternatives?: AlternativeResponse[];
}
