/** A command to the process of the fake Gemini. Each concerns the open connections of one model. */
export type GeminiOrder =
  /**
   * Sends pieces of speech on each connection: as fast as they are accepted, or at an interval on one connection after
   * the other.
   */
  | { readonly does: 'speak'; readonly model: string; readonly pieces: number; readonly everyMs?: number }
  /** Sends the same message on each connection. */
  | { readonly does: 'say'; readonly model: string; readonly message: Readonly<Record<string, unknown>> }
  /** Cuts the network of each connection. */
  | { readonly does: 'cut'; readonly model: string };

/** A report of that process: its address, or that a command is done. */
export type GeminiReport = { readonly url: string } | { readonly done: true };

/** Bytes of a piece of speech: 200 ms of 24 kHz PCM, as the service sends them. */
export const PIECE_BYTES = 9600;
/** Duration of a piece in milliseconds. */
export const PIECE_MS = 200;
