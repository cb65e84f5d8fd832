import type { FunctionCall, LlmRequest, LlmResponse, Part } from '@eventloom/core';
import type { Gate } from '../gate.ts';
import type { RequestExpectation } from './request-expectation.ts';

/** One answer of a scripted model: its text, an error to throw, a reply in full, or a function that makes one. */
export type ScriptedStep = string | Error | ScriptedReply | ScriptedFunction;

/** Answers a request. What it throws is thrown by the model. */
export type ScriptedFunction = (request: LlmRequest, call: ScriptedCall) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** The result of a scripted function. */
export type ScriptedAnswer = string | Error | ScriptedReply;

/** Details of the call of a model, for a scripted function. */
export interface ScriptedCall {
  readonly stream: boolean;
  readonly abortSignal: AbortSignal | undefined;
  /** 0 for the first call of the model. */
  readonly index: number;
}

/** A reply in full. Its parts are `thought`, `text`, `calls` and `parts` in this order; or its `chunks`, merged. */
export interface ScriptedReply {
  /** Reasoning in front of the answer. */
  readonly thought?: string;
  readonly text?: string;
  readonly calls?: readonly FunctionCall[];
  /** Parts as they are. */
  readonly parts?: readonly Part[];
  /**
   * The chunks of the reply when it is streamed: texts, parts, or whole chunks. A gate in the list holds the chunks
   * behind it. Without `chunks` a streamed reply is one chunk.
   */
  readonly chunks?: readonly (string | readonly Part[] | LlmResponse | Gate)[];
  /** Fields beside the content: usage, `errorCode`, `finishReason` (default `STOP`), … */
  readonly response?: LlmResponse;
  /** Thrown instead of the merged response, so after the chunks when it is streamed. */
  readonly error?: Error;
  /** Expectations about the request. */
  readonly expect?: RequestExpectation;
  /** Holds the answer until the test opens it. */
  readonly gate?: Gate;
}
