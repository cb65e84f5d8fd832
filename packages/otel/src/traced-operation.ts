import {
  type ActiveOperation,
  type LlmResponse,
  type Operation,
  type OperationEnd,
  type Platform,
  type TraceHeaders,
  type UsageMetadata,
} from '@eventloom/core';
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  type Span,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { capturedResponse, capturedValue } from './captured-content.ts';
import { traceHeadersOf } from './trace-context.ts';
import type { ModelMetrics } from './model-metrics.ts';
import type { ModelPrice } from './open-telemetry.ts';
import {
  COST,
  ERROR_TYPE,
  LEFT,
  OPERATION_NAME,
  OUTPUT_MESSAGES,
  PROVIDER_NAME,
  REQUEST_MODEL,
  REQUEST_STREAM,
  RESPONSE_FINISH_REASONS,
  RESPONSE_MODEL,
  RESPONSE_TIME_TO_FIRST_CHUNK,
  TOOL_CALL_RESULT,
  USAGE_CACHE_READ_INPUT_TOKENS,
  USAGE_INPUT_TOKENS,
  USAGE_OUTPUT_TOKENS,
  USAGE_REASONING_OUTPUT_TOKENS,
} from './semantic-conventions.ts';

/** The key of the operation that a context belongs to. */
export const CURRENT: symbol = createContextKey('eventloom operation');

/** The parts of the options that operations need. */
export interface TraceSettings {
  readonly contentLength: number | undefined;
  readonly prices: Readonly<Record<string, ModelPrice>>;
  readonly metrics: ModelMetrics;
}

/** An operation with its span. */
export class TracedOperation implements ActiveOperation {
  /** The context in which the operation works. */
  readonly context: Context;
  protected readonly span: Span;
  protected readonly settings: TraceSettings;

  constructor(span: Span, around: Context, settings: TraceSettings) {
    this.span = span;
    this.context = new OperationContext(trace.setSpan(around, span), this);
    this.settings = settings;
  }

  run<T>(step: () => T): T {
    return context.with(this.context, step);
  }

  traceHeaders(): TraceHeaders {
    const active = context.active();
    return traceHeadersOf(active.getValue(CURRENT) === this ? active : this.context);
  }

  end(end: OperationEnd): void {
    const { contentLength } = this.settings;
    if (end.status === 'error') this.fail(errorType(end.error), end.error);
    else if (end.status === 'left') this.span.setAttribute(LEFT, true);
    else if (contentLength !== undefined && end.result !== undefined)
      this.span.setAttribute(TOOL_CALL_RESULT, capturedValue(end.result, contentLength));
    this.span.end();
  }

  /** Marks the span as failed. The text of an error may hold content. */
  protected fail(type: string, error: { readonly message: string }): void {
    const { span, settings } = this;
    span.setAttribute(ERROR_TYPE, type);
    if (settings.contentLength === undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    else span.setStatus({ code: SpanStatusCode.ERROR, message: error.message.slice(0, settings.contentLength) });
  }
}

/** The context of an operation. The API's own contexts copy all their values for each that is set. */
class OperationContext implements Context {
  readonly #values: Context;
  readonly #operation: TracedOperation;

  constructor(values: Context, operation: TracedOperation) {
    this.#values = values;
    this.#operation = operation;
  }

  getValue(key: symbol): unknown {
    return key === CURRENT ? this.#operation : this.#values.getValue(key);
  }

  setValue(key: symbol, value: unknown): Context {
    return new OperationContext(this.#values.setValue(key, value), this.#operation);
  }

  deleteValue(key: symbol): Context {
    return new OperationContext(this.#values.deleteValue(key), this.#operation);
  }
}

/** A call of a model, or a live connection to one, with its span and its metrics. */
export class TracedModelCall extends TracedOperation {
  readonly #platform: Platform;
  readonly #attributes: Attributes;
  readonly #isLive: boolean;
  readonly #startMs: number;
  #firstChunkMs: number | undefined;
  #hasChunks = false;
  #usage: UsageMetadata | undefined;
  #last: LlmResponse | undefined;
  #model: string | undefined;
  #errorType: string | undefined;

  constructor(
    span: Span,
    around: Context,
    settings: TraceSettings,
    { context: place, live }: Extract<Operation, { readonly kind: 'model' }>,
    attributes: Attributes,
  ) {
    super(span, around, settings);
    this.#platform = place.platform;
    this.#attributes = attributes;
    this.#isLive = live;
    this.#startMs = place.platform.now();
  }

  response(response: LlmResponse): void {
    this.#firstChunkMs ??= this.#platform.now() - this.#startMs;
    if (response.partial === true) this.#hasChunks = true;
    else this.#last = response;
    if (response.usageMetadata)
      this.#usage = this.#isLive ? sumOf(this.#usage, response.usageMetadata) : response.usageMetadata;
    if (response.modelVersion !== undefined) this.#model = response.modelVersion;
    if (response.errorCode !== undefined) this.#errorType = response.errorCode;
  }

  override end(end: OperationEnd): void {
    const durationMs = this.#platform.now() - this.#startMs;
    const type = end.status === 'error' ? errorType(end.error) : this.#errorType;
    const isStreamed = this.#hasChunks || this.#isLive;
    const firstChunkMs = isStreamed ? this.#firstChunkMs : undefined;
    const { input, output, cached } = tokensOf(this.#usage);
    const cost = this.#costOf(input, output, cached);
    const measured: Attributes = {
      [OPERATION_NAME]: this.#attributes[OPERATION_NAME],
      [PROVIDER_NAME]: this.#attributes[PROVIDER_NAME],
      [REQUEST_MODEL]: this.#attributes[REQUEST_MODEL],
    };
    if (this.#model !== undefined) measured[RESPONSE_MODEL] = this.#model;
    if (type !== undefined) measured[ERROR_TYPE] = type;
    const measure = { durationMs, firstChunkMs, inputTokens: input, outputTokens: output, cost };
    this.settings.metrics.record(measure, measured);
    if (this.span.isRecording()) this.span.setAttributes(this.#results(firstChunkMs, cost));
    if (end.status === 'ok' && type !== undefined) this.fail(type, { message: this.#last?.errorMessage ?? type });
    super.end(end);
  }

  #results(firstChunkMs: number | undefined, cost: number | undefined): Attributes {
    const { contentLength } = this.settings;
    const { input, output, cached } = tokensOf(this.#usage);
    const thoughts = this.#usage?.thoughtsTokenCount;
    const results: Attributes = {};
    if (this.#hasChunks) results[REQUEST_STREAM] = true;
    if (firstChunkMs !== undefined) results[RESPONSE_TIME_TO_FIRST_CHUNK] = firstChunkMs / 1000;
    if (this.#model !== undefined) results[RESPONSE_MODEL] = this.#model;
    if (this.#last?.finishReason !== undefined)
      results[RESPONSE_FINISH_REASONS] = [this.#last.finishReason.toLowerCase()];
    if (input !== undefined) results[USAGE_INPUT_TOKENS] = input;
    if (output !== undefined) results[USAGE_OUTPUT_TOKENS] = output;
    if (cached !== undefined) results[USAGE_CACHE_READ_INPUT_TOKENS] = cached;
    if (thoughts !== undefined) results[USAGE_REASONING_OUTPUT_TOKENS] = thoughts;
    if (cost !== undefined) results[COST] = cost;
    if (contentLength !== undefined && this.#last?.content)
      results[OUTPUT_MESSAGES] = capturedResponse(this.#last, contentLength);
    return results;
  }

  #costOf(input = 0, output = 0, cached = 0): number | undefined {
    const { prices } = this.settings;
    const requested = this.#attributes[REQUEST_MODEL];
    const name = [this.#model, requested].find((each) => typeof each === 'string' && Object.hasOwn(prices, each));
    const price = typeof name === 'string' ? prices[name] : undefined;
    if (!price || !this.#usage) return undefined;
    const { cachedInput = price.input } = price;
    return ((input - cached) * price.input + cached * cachedInput + output * price.output) / 1_000_000;
  }
}

interface Tokens {
  /** Includes the tokens of tool results that the service read itself. */
  readonly input?: number | undefined;
  /** Includes the thoughts. */
  readonly output?: number | undefined;
  readonly cached?: number | undefined;
}

function tokensOf(usage: UsageMetadata | undefined): Tokens {
  if (!usage) return {};
  const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usage;
  return {
    input: sum(promptTokenCount, toolUsePromptTokenCount),
    output: sum(candidatesTokenCount, thoughtsTokenCount),
    cached: usage.cachedContentTokenCount,
  };
}

function sum(first: number | undefined, second: number | undefined): number | undefined {
  return first === undefined && second === undefined ? undefined : (first ?? 0) + (second ?? 0);
}

const COUNTS = [
  'promptTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
] as const;

/** A live connection reports the tokens of each turn. */
function sumOf(before: UsageMetadata | undefined, usage: UsageMetadata): UsageMetadata {
  const total: UsageMetadata = {};
  for (const count of COUNTS) {
    const both = sum(before?.[count], usage[count]);
    if (both !== undefined) total[count] = both;
  }
  return total;
}

/** A name of few values: the code of the model's error, the code of the error, or its class. */
function errorType(error: Error): string {
  if ('errorCode' in error && typeof error.errorCode === 'string') return error.errorCode;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
