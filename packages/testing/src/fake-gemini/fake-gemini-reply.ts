import type { Gate } from '../gate.ts';
import type { FakeGeminiRequest } from './fake-gemini-request.ts';
import type { ByteSplit } from './split-bytes.ts';

/** The fake server's response to a request. */
export interface FakeGeminiReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body: JSON, or a string that is sent as it is. */
  readonly body?: unknown;
  /**
   * The body as server-sent events: each item is sent as `data: {json}\r\n\r\n`, a string as it is, and a gate in the list
   * holds what follows it. Only for `:streamGenerateContent`, and for errors of it.
   */
  readonly frames?: readonly unknown[];
  /** Splits the bytes into pieces that are sent one by one. Default: one piece for each frame, or for the whole body. */
  readonly split?: ByteSplit;
  /**
   * The end of the body. `finish` (default): a proper end. `cut`: the socket is closed. `hang`: the response never
   * ends.
   */
  readonly end?: 'finish' | 'cut' | 'hang';
  /** Holds the whole answer, headers included. */
  readonly gate?: Gate;
}

/** One step of the script: a reply, or a function that makes one of the request. */
export type FakeGeminiStep = FakeGeminiReply | ((request: FakeGeminiRequest) => FakeGeminiReply);

/** A whole answer to `:generateContent`. */
export function jsonReply(body: unknown, options: FakeGeminiReply = {}): FakeGeminiReply {
  return { ...options, body };
}

/** A streamed answer to `:streamGenerateContent`. */
export function sseReply(frames: readonly unknown[], options: FakeGeminiReply = {}): FakeGeminiReply {
  return { ...options, frames };
}

/** The parts of an error that differ. */
export interface FakeGeminiError {
  /** HTTP status, e.g. 429. */
  readonly code: number;
  /** The service's word for it, e.g. `RESOURCE_EXHAUSTED`. */
  readonly status: string;
  readonly message?: string;
  /** `google.rpc` details as they are on the wire. */
  readonly details?: readonly object[];
  /** Puts a `google.rpc.RetryInfo` with this delay, e.g. `34.4s`, among the details. */
  readonly retryDelay?: string;
}

/** An error as the service reports it. */
export function errorReply(error: FakeGeminiError, options: FakeGeminiReply = {}): FakeGeminiReply {
  return { ...options, status: error.code, body: errorBody(error) };
}

/** The JSON of an error, to be sent as a body or as a frame of a stream. */
export function errorBody(error: FakeGeminiError): { error: object } {
  const { retryDelay, details = [], message = `${error.status} from the fake server`, ...rest } = error;
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay };
  const all = retryDelay === undefined ? details : [...details, retryInfo];
  return { error: { ...rest, message, ...(all.length > 0 && { details: all }) } };
}

/** No answer at all: the request stays open until one side closes it. */
export function hangReply(): FakeGeminiReply {
  return { end: 'hang' };
}

/** The socket is closed before anything was answered. */
export function cutReply(): FakeGeminiReply {
  return { end: 'cut' };
}
