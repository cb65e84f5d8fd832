import type { Operation, OperationEnd, TraceHeaders } from '@eventloom/core';
import { operationNameOf } from '@eventloom/core/internal';
import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import type { ModelMetrics } from './model-metrics.ts';
import { ERROR_TYPE, OPERATION_NAME, PROVIDER_NAME, REQUEST_MODEL, RESPONSE_MODEL } from './semantic-conventions.ts';
import { SpanRecord, type SpanSettings } from './span-record.ts';
import { traceHeadersOf } from './trace-context.ts';

/** The context key of the current operation. */
export const CURRENT: symbol = createContextKey('eventloom operation');

/** The options that operations need. */
export interface TraceSettings extends SpanSettings {
  readonly tracer: Tracer;
  /** Undefined if the program measures nothing. */
  readonly metrics: ModelMetrics | undefined;
}

/** An operation with its span, and with metrics if it is a model call. */
export class TracedOperation extends SpanRecord {
  /** The context in which the operation runs. */
  readonly context: Context;
  readonly #span: Span;
  readonly #settings: TraceSettings;

  constructor(operation: Operation, around: Context, settings: TraceSettings) {
    super(operation, settings);
    const kind = operation.kind === 'model' ? SpanKind.CLIENT : SpanKind.INTERNAL;
    this.#settings = settings;
    const attributes: Attributes = {};
    this.describeForSampling((name, value) => void (attributes[name] = value));
    const span = settings.tracer.startSpan(this.name, { kind, attributes }, around);
    this.#span = span;
    // The SDK checks and copies twice what it gives to samplers, and once what is set later.
    if (span.isRecording()) this.describeStart((name, value) => void span.setAttribute(name, value));
    this.context = new OperationContext(around, this, this.#span);
  }

  run<T>(step: () => T): T {
    return context.with(this.context, step);
  }

  traceHeaders(): TraceHeaders {
    const active = context.active();
    return traceHeadersOf(active.getValue(CURRENT) === this ? active : this.context);
  }

  override end(end: OperationEnd): void {
    super.end(end);
    const span = this.#span;
    const metrics = this.kind === 'model' ? this.#settings.metrics : undefined;
    if (metrics) this.#measure(metrics);
    if (span.isRecording()) this.describeEnd((name, value) => void span.setAttribute(name, value));
    if (this.status === 'error') {
      const { errorMessage } = this;
      span.setStatus({ code: SpanStatusCode.ERROR, ...(errorMessage !== undefined && { message: errorMessage }) });
    }
    span.end();
    this.operation = undefined;
  }

  #measure(metrics: ModelMetrics): void {
    const { input, output } = this.tokens;
    const measured: Attributes = {
      [OPERATION_NAME]: operationNameOf(this.kind),
      [PROVIDER_NAME]: this.provider,
      [REQUEST_MODEL]: this.subject,
    };
    if (this.responseModel !== undefined) measured[RESPONSE_MODEL] = this.responseModel;
    if (this.errorType !== undefined) measured[ERROR_TYPE] = this.errorType;
    const durationMs = (this.endMs ?? this.startMs) - this.startMs;
    const { firstChunkMs, cost } = this;
    metrics.record({ durationMs, firstChunkMs, inputTokens: input, outputTokens: output, cost }, measured);
  }
}

/**
 * The context of an operation. The API's own contexts copy all their values whenever one is set, so the span is added
 * only when something reads the values: most calls of models and tools have no children.
 */
class OperationContext implements Context {
  readonly #operation: TracedOperation;
  #around: Context;
  /** The span that is not in the values yet. */
  #span: Span | undefined;

  constructor(around: Context, operation: TracedOperation, span?: Span) {
    this.#around = around;
    this.#operation = operation;
    this.#span = span;
  }

  get #values(): Context {
    if (this.#span) this.#around = trace.setSpan(this.#around, this.#span);
    this.#span = undefined;
    return this.#around;
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
