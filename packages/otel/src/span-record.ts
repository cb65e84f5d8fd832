import type { LlmRequest, LlmResponse, Operation, OperationEnd } from '@eventloom/core';
import { OperationRecord } from '@eventloom/core/internal';
import type { Attributes } from '@opentelemetry/api';
import { capturedInstruction, capturedMessages, capturedResponse, capturedValue } from './captured-content.ts';
import {
  AGENT_DESCRIPTION,
  AGENT_NAME,
  CONVERSATION_ID,
  COST,
  ERROR_TYPE,
  EXECUTION_ID,
  INPUT_MESSAGES,
  INVOCATION_ID,
  LEFT,
  LIVE,
  OPERATION_NAME,
  OUTPUT_MESSAGES,
  PROVIDER_NAME,
  providerOf,
  REQUEST_MODEL,
  REQUEST_NUMBERS,
  REQUEST_STREAM,
  RESPONSE_FINISH_REASONS,
  RESPONSE_MODEL,
  RESPONSE_TIME_TO_FIRST_CHUNK,
  RESUMED,
  SYSTEM_INSTRUCTIONS,
  TOOL_CALL_ARGUMENTS,
  TOOL_CALL_ID,
  TOOL_CALL_RESULT,
  TOOL_NAME,
  TOOL_TYPE,
  USAGE_CACHE_READ_INPUT_TOKENS,
  USAGE_INPUT_TOKENS,
  USAGE_OUTPUT_TOKENS,
  USAGE_REASONING_OUTPUT_TOKENS,
  USER_ID,
} from './semantic-conventions.ts';

/** Prices of a model's tokens, each for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  /** Price of output, thoughts included. */
  readonly output: number;
  /** Price of input that the service had in its cache. Default: `input`. */
  readonly cachedInput?: number | undefined;
}

/** Settings of the data in spans, beside names, ids and counts. */
export interface SpanSettings {
  /** Maximum length of an attribute with content, in characters; undefined: no content is captured. */
  readonly contentLength: number | undefined;
  readonly captureUserId: boolean;
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

/**
 * An operation with the attributes of its span, by the GenAI conventions. Attributes are computed when they are read;
 * only content is captured at once.
 */
export class SpanRecord extends OperationRecord {
  readonly provider: string | undefined;
  /** The text of the error, if content is captured. */
  errorMessage: string | undefined;
  protected readonly settings: SpanSettings;
  readonly #numbers: readonly (readonly [name: string, value: number])[] | undefined;
  readonly #content: Attributes | undefined;
  #last: LlmResponse | undefined;

  constructor(operation: Operation, parent: OperationRecord | undefined, settings: SpanSettings, traceId?: string) {
    super(operation, parent, traceId);
    this.settings = settings;
    const { contentLength } = settings;
    if (contentLength !== undefined) this.#content = {};
    if (operation.kind === 'model') {
      const { model, request } = operation;
      this.provider = providerOf(model);
      this.#numbers = numbersOf(request);
      if (this.#content && contentLength !== undefined) addRequest(this.#content, request, contentLength);
    } else if (operation.kind === 'tool' && this.#content && contentLength !== undefined)
      this.#content[TOOL_CALL_ARGUMENTS] = capturedValue(operation.args, contentLength);
  }

  override response(response: LlmResponse): void {
    super.response(response);
    if (this.#content && response.partial !== true) this.#last = response;
  }

  override end(end: OperationEnd): void {
    super.end(end);
    const { contentLength } = this.settings;
    if (!this.#content || contentLength === undefined) return;
    const last = this.#last;
    this.#last = undefined;
    const message = end.status === 'error' ? end.error.message : (last?.errorMessage ?? this.errorType);
    this.errorMessage = this.status === 'error' ? message?.slice(0, contentLength) : undefined;
    if (last?.content) this.#content[OUTPUT_MESSAGES] = capturedResponse(last, contentLength);
    if (end.status === 'ok' && end.result !== undefined && this.status === 'ok')
      this.#content[TOOL_CALL_RESULT] = capturedValue(end.result, contentLength);
  }

  /** The time to the first chunk of a streamed reply, in milliseconds. */
  get firstChunkMs(): number | undefined {
    return this.hasChunks || this.isLive ? this.firstResponseMs : undefined;
  }

  /** The cost of a model call, if the prices include its model and the model reported its tokens. */
  get cost(): number | undefined {
    const { prices } = this.settings;
    const name = [this.responseModel, this.subject].find((each) => each !== undefined && Object.hasOwn(prices, each));
    const price = name === undefined ? undefined : prices[name];
    if (!price || !this.usage) return undefined;
    const { input = 0, output = 0, cached = 0 } = this.tokens;
    const { cachedInput = price.input } = price;
    return ((input - cached) * price.input + cached * cachedInput + output * price.output) / 1_000_000;
  }

  /** Returns the attributes that are known when the operation starts, without content. */
  startAttributes(): Attributes {
    const { kind } = this;
    const attributes: Attributes = {
      [OPERATION_NAME]: this.operationName,
      [CONVERSATION_ID]: this.sessionId,
      [INVOCATION_ID]: this.invocationId,
    };
    if (this.settings.captureUserId) attributes[USER_ID] = this.userId;
    if (kind === 'run') {
      attributes[AGENT_NAME] = this.appName;
      if (this.isResumed) attributes[RESUMED] = true;
      return attributes;
    }
    attributes[AGENT_NAME] = this.agentName;
    attributes[EXECUTION_ID] = this.executionId;
    if (kind === 'agent') {
      if (this.agentDescription !== '') attributes[AGENT_DESCRIPTION] = this.agentDescription;
    } else if (kind === 'tool') {
      attributes[TOOL_NAME] = this.subject;
      attributes[TOOL_TYPE] = 'function';
      attributes[TOOL_CALL_ID] = this.callId;
    } else {
      attributes[PROVIDER_NAME] = this.provider;
      attributes[REQUEST_MODEL] = this.subject;
      if (this.isLive) attributes[LIVE] = true;
      for (const [name, value] of this.#numbers ?? []) attributes[name] = value;
    }
    return attributes;
  }

  /** Returns the attributes that are known when the operation has ended, and the content. */
  endAttributes(): Attributes {
    const attributes: Attributes = {};
    if (this.status === 'left') attributes[LEFT] = true;
    else if (this.errorType !== undefined) attributes[ERROR_TYPE] = this.errorType;
    if (this.kind === 'model') this.#addReply(attributes);
    return this.#content ? Object.assign(attributes, this.#content) : attributes;
  }

  #addReply(attributes: Attributes): void {
    const { firstChunkMs, cost } = this;
    const { input, output, cached, thoughts } = this.tokens;
    if (this.hasChunks) attributes[REQUEST_STREAM] = true;
    if (firstChunkMs !== undefined) attributes[RESPONSE_TIME_TO_FIRST_CHUNK] = firstChunkMs / 1000;
    if (this.responseModel !== undefined) attributes[RESPONSE_MODEL] = this.responseModel;
    if (this.finishReason !== undefined) attributes[RESPONSE_FINISH_REASONS] = [this.finishReason.toLowerCase()];
    if (input !== undefined) attributes[USAGE_INPUT_TOKENS] = input;
    if (output !== undefined) attributes[USAGE_OUTPUT_TOKENS] = output;
    if (cached !== undefined) attributes[USAGE_CACHE_READ_INPUT_TOKENS] = cached;
    if (thoughts !== undefined) attributes[USAGE_REASONING_OUTPUT_TOKENS] = thoughts;
    if (cost !== undefined) attributes[COST] = cost;
  }
}

function numbersOf({ config }: LlmRequest): [name: string, value: number][] | undefined {
  let numbers: [string, number][] | undefined;
  for (const [option, attribute] of REQUEST_NUMBERS) {
    const value = config[option];
    if (typeof value === 'number') (numbers ??= []).push([attribute, value]);
  }
  return numbers;
}

function addRequest(attributes: Attributes, { contents, config }: LlmRequest, contentLength: number): void {
  attributes[INPUT_MESSAGES] = capturedMessages(contents, contentLength);
  const { systemInstruction } = config;
  if (systemInstruction !== undefined)
    attributes[SYSTEM_INSTRUCTIONS] = capturedInstruction(systemInstruction, contentLength);
}
