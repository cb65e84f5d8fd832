import type { FunctionCall, Part, Transcription } from '@eventloom/core';

/** A message of the service, as it is on the wire: what of it is used. */
export interface LiveMessage {
  readonly setupComplete?: object;
  readonly serverContent?: LiveServerContent;
  readonly toolCall?: { readonly functionCalls?: readonly FunctionCall[] };
  readonly toolCallCancellation?: { readonly ids?: readonly string[] };
  readonly usageMetadata?: LiveUsage;
  readonly sessionResumptionUpdate?: {
    readonly newHandle?: string;
    readonly resumable?: boolean;
    /** The place of a message of the client's on this connection: the setup is 0. A 64-bit number, which protobuf writes as text. */
    readonly lastConsumedClientMessageIndex?: string | number;
  };
  /** A protobuf duration: `9.5s`. */
  readonly goAway?: { readonly timeLeft?: string };
  /** Not documented for live connections; proxies answer so. */
  readonly error?: { readonly code?: number; readonly status?: string; readonly message?: string };
}

/** Token counts. The fields listed here have other names in the Gemini API than elsewhere. */
export interface LiveUsage {
  readonly responseTokenCount?: number;
  readonly responseTokensDetails?: object[];
  readonly [count: string]: unknown;
}

/** Output of the model in a message of the service. */
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
