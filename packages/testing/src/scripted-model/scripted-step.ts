import type { FunctionCall, LlmRequest, LlmResponse, Part } from '@eventloom/core';
import type { Gate } from '../gate.ts';
import type { RequestExpectation } from './request-expectation.ts';

/** One step of a script: the text of a reply, an error to throw, a whole reply, or a function that returns one of these. */
export type ScriptedStep = string | Error | ScriptedReply | ScriptedFunction;

/** Computes the reply to a request. The model rethrows its errors. */
export type ScriptedFunction = (request: LlmRequest, call: ScriptedCall) => ScriptedResult | Promise<ScriptedResult>;

/** The result of a scripted function. */
export type ScriptedResult = string | Error | ScriptedReply;

/** Details of a model call, for a scripted function. */
export interface ScriptedCall {
  readonly stream: boolean;
  readonly abortSignal: AbortSignal | undefined;
  /** Index of the call, from 0. */
  readonly index: number;
}

/** A whole reply. Its parts are `thought`, `text`, `calls` and `parts` in this order, or the merged `chunks`. */
export interface ScriptedReply {
  /** Text of a thought in front of the reply. */
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly FunctionCall[];
  /** Parts that are added unchanged. */
  readonly parts?: readonly Part[];
  /**
   * The chunks of a streamed reply: texts, parts, or whole responses. A gate in the list delays the chunks after it
   * until the test opens it. Default: one chunk.
   */
  readonly chunks?: readonly (string | readonly Part[] | LlmResponse | Gate)[];
  /** Other fields of the response, such as `usageMetadata`, `errorCode` or `finishReason` (default `STOP`). */
  readonly response?: LlmResponse;
  /** An error that is thrown instead of the merged response. If the reply is streamed, it is thrown after the chunks. */
  readonly error?: Error;
  /** Expectations about the request. Default: any request is accepted. */
  readonly expect?: RequestExpectation;
  /** Delays the reply until the test opens the gate. Default: no delay. */
  readonly gate?: Gate;
}
