/** A command to the process of the clients. */
export type SocketOrder =
  /** Opens this number of WebSockets, each with its own address. */
  | { readonly does: 'dial'; readonly line: string; readonly urls: readonly string[] }
  /** Counts pieces on all sockets of the line up to a number. Reports twice: when it listens, and when it has received them. */
  | { readonly does: 'listen'; readonly line: string; readonly pieces: number };

/** A report of that process. */
export interface SocketReport {
  /** Arrival time of each piece, by the clock that all processes share. */
  readonly atMs: readonly number[];
  /** Bytes of all frames in that time. */
  readonly bytes: number;
}

/** A frame longer than this has a piece of speech; all other frames are shorter. */
export const LEAST_PIECE_BYTES = 5000;
