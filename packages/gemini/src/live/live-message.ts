import type { FunctionCall, Part, Transcription } from '@eventloom/core';

/** A message of the service, as it is on the wire: what of it is used. */
export interface LiveMessage {
  readonly setupComplete?: object;
  readonly serverContent?: LiveServerContent;
  readonly toolCall?: { readonly functionCalls?: readonly FunctionCall[] };
  readonly toolCallCancellation?: { readonly ids?: readonly string[] };
  /** What the Gemini API names otherwise here than elsewhere, beside the counts that are always so named. */
  readonly usageMetadata?: { readonly responseTokenCount?: number; readonly responseTokensDetails?: object[] };
  readonly sessionResumptionUpdate?: { readonly newHandle?: string; readonly resumable?: boolean };
  /** A protobuf duration: `9.5s`. */
  readonly goAway?: { readonly timeLeft?: string };
  /** Not documented for live connections; proxies answer so. */
  readonly error?: { readonly code?: number; readonly status?: string; readonly message?: string };
}

/** What the model says. */
export interface LiveServerContent {
  readonly modelTurn?: { readonly role?: string; readonly parts?: Part[] };
  readonly inputTranscription?: Transcription;
  readonly outputTranscription?: Transcription;
  readonly generationComplete?: boolean;
  readonly interrupted?: boolean;
  readonly turnComplete?: boolean;
  readonly turnCompleteReason?: string;
  readonly groundingMetadata?: object;
}
