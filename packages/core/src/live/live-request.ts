import type { Blob, Content, FunctionResponse } from '../content/content.ts';

/** One thing that a client says in a call: exactly one of the fields. */
export type LiveRequest =
  /** A whole turn of the user's. */
  | { readonly content: Content }
  /** A piece of audio or video, as it is recorded. */
  | { readonly blob: Blob }
  /** The user begins to speak or to act; for models whose own detection is switched off. */
  | { readonly activityStart: true }
  /** The user is done. */
  | { readonly activityEnd: true }
  /** Answers to calls that the model still waits for. */
  | { readonly toolResponses: readonly FunctionResponse[] };
