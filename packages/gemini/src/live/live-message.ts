import type { FunctionCall, Part, Transcription } from '@eventloom/core';

/** The fields of a message of the service that are used, as they are on the wire. */
export interface LiveMessage {
  readonly setupComplete?: object;
  readonly serverContent?: LiveServerContent;
  readonly toolCall?: { readonly functionCalls?: readonly FunctionCall[] };
  readonly toolCallCancellation?: { readonly ids?: readonly string[] };
  readonly usageMetadata?: LiveUsage;
  readonly sessionResumptionUpdate?: {
    readonly newHandle?: string;
    readonly resumable?: boolean;
    /**
     * Index of the last message of the client that the service consumed on this connection; the setup is 0. Protobuf
     * writes this 64-bit number as text.
     */
    readonly lastConsumedClientMessageIndex?: string | number;
  };
  /** Announces the end of the connection. `timeLeft` is a protobuf duration such as `9.5s`. */
  readonly goAway?: { readonly timeLeft?: string };
  /** An error in the form of a REST response. Not documented for live connections, but sent by proxies. */
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
  readonly urlContextMetadata?: object;
}
