import type { InvocationContext, LlmRequest, LlmResponse, Operation, OperationEnd } from '@eventloom/core';
import { operationNameOf, OperationProgress, placeOf, subjectOf } from '@eventloom/core/internal';
import type { Attributes, AttributeValue } from '@opentelemetry/api';
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
  NODE_NAME,
  NODE_OUTPUT,
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

/** Prices of a million tokens of a model. */
export interface ModelPrice {
  readonly input: number;
  /** Price of output tokens, thoughts included. */
  readonly output: number;
  /** Price of input tokens that the service read from its cache. Default: `input`. */
  readonly cachedInput?: number | undefined;
}

/** Settings for the data in spans in addition to names, ids and counts. */
export interface SpanSettings {
  /** Maximum length of an attribute with content, in characters; undefined: no content is captured. */
  readonly contentLength: number | undefined;
  readonly captureUserId: boolean;
  readonly prices: Readonly<Record<string, ModelPrice>>;
}

/**
 * An operation with the attributes of its span, by the GenAI conventions. Attributes are computed when they are written; only content is
 * captured immediately.
 */
export class SpanRecord extends OperationProgress {
  readonly kind: Operation['kind'];
  /** See `subjectOf`. */
  readonly subject: string;
  /** Undefined once the span is written: its context would keep the whole session in memory. */
  operation: Operation | undefined;
  /** The text of the error, if content is captured. */
  errorMessage: string | undefined;
  protected readonly settings: SpanSettings;
  readonly #content: Attributes | undefined;
  #last: LlmResponse | undefined;

  constructor(operation: Operation, settings: SpanSettings) {
    super(operation);
    this.kind = operation.kind;
    this.subject = subjectOf(operation);
    this.operation = operation;
    this.settings = settings;
    const { contentLength } = settings;
    if (contentLength === undefined) return;
    this.#content = {};
    if (operation.kind === 'model') addRequest(this.#content, operation.request, contentLength);
    else if (operation.kind === 'tool')
      this.#content[TOOL_CALL_ARGUMENTS] = capturedValue(operation.args, contentLength);
  }

  /** Name of the span: see `operationNameOf`. */
  get name(): string {
    return `${operationNameOf(this.kind)} ${this.subject}`;
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
      this.#content[this.kind === 'node' ? NODE_OUTPUT : TOOL_CALL_RESULT] = capturedValue(end.result, contentLength);
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

  /** Name of the service that the model calls. */
  get provider(): string | undefined {
    return this.operation?.kind === 'model' ? providerOf(this.operation.model) : undefined;
  }

  /** Passes on the attributes that the conventions name for decisions of samplers. */
  describeForSampling(add: AddAttribute): void {
    this.describeSubject(add);
    this.describeProvider(add);
  }

  /** Passes on the other attributes that are known when the operation starts, without content. */
  describeStart(add: AddAttribute): void {
    if (!this.operation) return;
    const place = placeOf(this.operation);
    this.describeRun(place, add);
    if (this.kind !== 'run') this.describeExecution(place, add);
    this.describeCall(add);
  }

  /** Passes on the attributes that all operations of a run have. */
  describeRun({ invocation, invocationId, userId }: InvocationContext, add: AddAttribute): void {
    add(CONVERSATION_ID, invocation.session.id);
    add(INVOCATION_ID, invocationId);
    if (this.settings.captureUserId) add(USER_ID, userId);
  }

  /** Passes on the attributes that all operations of an execution of an agent have. */
  describeExecution({ agent, executionId }: InvocationContext, add: AddAttribute): void {
    add(AGENT_NAME, agent.name);
    add(EXECUTION_ID, executionId);
  }

  /** Passes on the attributes that all operations of this kind with this subject have. */
  describeSubject(add: AddAttribute): void {
    const { kind } = this;
    add(OPERATION_NAME, operationNameOf(kind));
    if (kind === 'run') add(AGENT_NAME, this.subject);
    else if (kind === 'model') add(REQUEST_MODEL, this.subject);
    else if (kind === 'node') add(NODE_NAME, this.subject);
    else if (kind === 'tool') {
      add(TOOL_NAME, this.subject);
      add(TOOL_TYPE, 'function');
    }
  }

  /** Passes on the provider of a model, if it is known. */
  describeProvider(add: AddAttribute): void {
    const { provider } = this;
    if (provider !== undefined) add(PROVIDER_NAME, provider);
  }

  /** Passes on the attributes that are this operation's own when it starts. */
  describeCall(add: AddAttribute): void {
    const { operation } = this;
    if (operation?.kind === 'run') {
      if (operation.resumed) add(RESUMED, true);
    } else if (operation?.kind === 'agent') {
      const { description } = operation.context.agent;
      if (description !== '') add(AGENT_DESCRIPTION, description);
    } else if (operation?.kind === 'tool') {
      add(TOOL_CALL_ID, operation.context.functionCallId);
    } else if (operation?.kind === 'model') {
      if (operation.live) add(LIVE, true);
      const { config } = operation.request;
      for (const { option, attribute } of REQUEST_NUMBERS) {
        const value = config[option];
        if (typeof value === 'number') add(attribute, value);
      }
    }
  }

  /** Passes on the attributes that are known when the operation has ended, and the content. */
  describeEnd(add: AddAttribute): void {
    if (this.status === 'left') add(LEFT, true);
    else if (this.errorType !== undefined) add(ERROR_TYPE, this.errorType);
    if (this.kind === 'model') this.#describeReply(add);
    for (const name in this.#content) {
      const value = this.#content[name];
      if (value !== undefined) add(name, value);
    }
  }

  #describeReply(add: AddAttribute): void {
    const { firstChunkMs } = this;
    if (this.hasChunks) add(REQUEST_STREAM, true);
    if (firstChunkMs !== undefined) add(RESPONSE_TIME_TO_FIRST_CHUNK, firstChunkMs / 1000);
    if (this.responseModel !== undefined) add(RESPONSE_MODEL, this.responseModel);
    if (this.finishReason !== undefined) add(RESPONSE_FINISH_REASONS, [this.finishReason.toLowerCase()]);
    if (!this.usage) return;
    const { tokens, cost } = this;
    const { input, output, cached, thoughts } = tokens;
    if (input !== undefined) add(USAGE_INPUT_TOKENS, input);
    if (output !== undefined) add(USAGE_OUTPUT_TOKENS, output);
    if (cached !== undefined) add(USAGE_CACHE_READ_INPUT_TOKENS, cached);
    if (thoughts !== undefined) add(USAGE_REASONING_OUTPUT_TOKENS, thoughts);
    if (cost !== undefined) add(COST, cost);
  }
}

/** Receives an attribute of a span. */
type AddAttribute = (name: string, value: AttributeValue) => void;

function addRequest(attributes: Attributes, { contents, config }: LlmRequest, contentLength: number): void {
  attributes[INPUT_MESSAGES] = capturedMessages(contents, contentLength);
  const { systemInstruction } = config;
  if (systemInstruction !== undefined)
    attributes[SYSTEM_INSTRUCTIONS] = capturedInstruction(systemInstruction, contentLength);
}
