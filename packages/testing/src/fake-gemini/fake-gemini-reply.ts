import { ConfigurationError } from '@eventloom/core';
import { checkOptions, describeKind, isRecord, type OptionRules } from '@eventloom/core/internal';
import type { Gate } from '../gate.ts';
import type { FakeGeminiRequest } from './fake-gemini-request.ts';
import type { ByteSplit } from './split-bytes.ts';

/** The fake server's response to a request. */
export interface FakeGeminiReply {
  /** HTTP status. Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The whole body: a string, which is sent unchanged, or a value, which is sent as JSON. */
  readonly body?: unknown;
  /**
   * The body as server-sent events: a string is sent unchanged, any other item as one event with its JSON. A gate delays the items after it
   * until the test opens the gate. Only for `:streamGenerateContent` and its errors.
   */
  readonly frames?: readonly unknown[];
  /** Splits the bytes into pieces that are sent one by one. Default: one piece for each frame, or for the whole body. */
  readonly split?: ByteSplit;
  /** The end of the body. `finish` (default): the response is completed. `cut`: the socket is closed. `hang`: the response never ends. */
  readonly end?: 'finish' | 'cut' | 'hang';
  /** Delays the whole response, headers included, until the test opens the gate. Default: no delay. */
  readonly gate?: Gate;
}

/** One step of the script: a reply, or a function that creates one from the request. */
export type FakeGeminiStep = FakeGeminiReply | ((request: FakeGeminiRequest) => FakeGeminiReply);

const REPLY: OptionRules<FakeGeminiReply> = {
  status: 'number',
  headers: 'object',
  // Any JSON value is a body.
  body: 'any',
  frames: { is: 'list', write: "[wireResponse('Hello!')]" },
  split: 'list or object',
  end: { is: 'text', oneOf: ['finish', 'cut', 'hang'] },
  gate: { is: 'object', wanted: 'a gate', write: 'new Gate()' },
};
const HINTS = { candidates: 'write jsonReply({ candidates })', text: "write jsonReply(wireResponse('…'))" };

/** Checks a step of the script, or the result of its function. @throws ConfigurationError */
export function checkStep(place: string, step: unknown): void {
  if (typeof step === 'function') return;
  if (!isRecord(step))
    throw new ConfigurationError(
      `${place}: expected a reply or a function, got ${describeKind(step)}; write jsonReply(wireResponse('Hello!'))`,
    );
  checkOptions(place, REPLY, step, HINTS);
}

/** Creates a whole response to `:generateContent`. */
export function jsonReply(body: unknown, options: FakeGeminiReply = {}): FakeGeminiReply {
  return { ...options, body };
}

/** Creates a streamed response to `:streamGenerateContent`. */
export function sseReply(frames: readonly unknown[], options: FakeGeminiReply = {}): FakeGeminiReply {
  return { ...options, frames };
}

/** The fields of an error response of the service. */
export interface FakeGeminiError {
  /** HTTP status, e.g. 429. */
  readonly code: number;
  /** The service's status, e.g. `RESOURCE_EXHAUSTED`. */
  readonly status: string;
  readonly message?: string;
  /** Details of the types of `google.rpc`, as JSON on the wire. Default: none. */
  readonly details?: readonly object[];
  /** Adds a `google.rpc.RetryInfo` with this delay to the details, e.g. `34.4s`. Default: none. */
  readonly retryDelay?: string;
}

/** Creates an error response like that of the service. */
export function errorReply(error: FakeGeminiError, options: FakeGeminiReply = {}): FakeGeminiReply {
  return { ...options, status: error.code, body: errorBody(error) };
}

/** Creates the JSON of an error, for a body or for an event of a stream. */
export function errorBody(error: FakeGeminiError): { error: object } {
  const { retryDelay, details = [], message = `${error.status} from the fake server`, ...rest } = error;
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay };
  const all = retryDelay === undefined ? details : [...details, retryInfo];
  return { error: { ...rest, message, ...(all.length > 0 && { details: all }) } };
}

/** Creates a reply that never comes: the request stays open until one side closes it. */
export function hangReply(): FakeGeminiReply {
  return { end: 'hang' };
}

/** Creates a reply that closes the socket without a response. */
export function cutReply(): FakeGeminiReply {
  return { end: 'cut' };
}
