import type { ActiveOperation, Instrumentation, Operation } from '@eventloom/core';
import { checkOptions, type OptionRules } from '@eventloom/core/internal';
import {
  type Context,
  context,
  createNoopMeter,
  type MeterProvider,
  metrics,
  trace,
  type TracerProvider,
} from '@opentelemetry/api';
import { remoteParent } from './trace-context.ts';
import { ModelMetrics } from './model-metrics.ts';
import type { ModelPrice } from './span-record.ts';
import { CURRENT, TracedOperation, type TraceSettings } from './traced-operation.ts';

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** Creates the spans. Default: the provider that is registered globally. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Creates the metrics. Default: the provider that is registered globally. */
  readonly meterProvider?: MeterProvider | undefined;
  /**
   * True writes messages, system instructions, arguments and results of tools, and the texts of errors into the spans. They may contain
   * personal data. Default false.
   */
  readonly captureContent?: boolean | undefined;
  /** Maximum length of one attribute with content, in characters. The oldest messages are left out first. Default 32,768. */
  readonly maxContentLength?: number | undefined;
  /** True writes the id of the user into the spans, as `user.id`. Default false. */
  readonly captureUserId?: boolean | undefined;
  /**
   * Prices by model name. With prices, the cost of each call is in its span and in the metric `eventloom.client.cost`. Default: no costs.
   */
  readonly prices?: Readonly<Record<string, ModelPrice>> | undefined;
  /** Currency of the prices. Default `USD`. */
  readonly currency?: string | undefined;
}

const OPTIONS: OptionRules<OpenTelemetryOptions> = {
  tracerProvider: 'object',
  meterProvider: 'object',
  captureContent: 'flag',
  maxContentLength: { is: 'number', isInteger: true, min: 0 },
  captureUserId: 'flag',
  prices: 'object',
  currency: 'text',
};

const SCOPE = '@eventloom/otel';

/**
 * Creates the instrumentation that writes spans and metrics by the GenAI semantic conventions of OpenTelemetry: a span
 * for each run (`invoke_workflow`), agent (`invoke_agent`), model call (`chat`), tool call (`execute_tool`) and node of
 * a graph (`execute_node`), and histograms of tokens, durations and times to the first chunk. It needs only
 * `@opentelemetry/api`; the program registers an SDK of version 2 or 3.
 *
 * Spans that a tool or a custom agent starts are children of its span if an OpenTelemetry context manager is registered. The run's own
 * spans have the right parents without one.
 * @throws ConfigurationError for an unknown option or one of the wrong kind
 *
 * @example
 * import { openTelemetry } from '@eventloom/otel';
 * import { InMemoryRunner, LlmAgent } from 'eventloom';
 *
 * const agent = new LlmAgent({ name: 'helper', model: 'gemini-flash-latest' });
 * const runner = new InMemoryRunner({ agent, instrumentation: openTelemetry() });
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Instrumentation {
  checkOptions('openTelemetry', OPTIONS, options);
  const { tracerProvider = trace.getTracerProvider(), meterProvider } = options;
  const { captureContent = false, captureUserId = false, maxContentLength = 32_768 } = options;
  const { prices = {}, currency = 'USD' } = options;
  const tracer = tracerProvider.getTracer(SCOPE);
  let recorded: ModelMetrics | undefined;
  const settings: TraceSettings = {
    contentLength: captureContent ? maxContentLength : undefined,
    captureUserId,
    prices,
    tracer,
    // The program may register its SDK after it has created the instrumentation. One that registers none for metrics does not pay for them.
    get metrics() {
      const meter = recorded ? undefined : (meterProvider ?? metrics.getMeterProvider()).getMeter(SCOPE);
      if (meter && meter !== createNoopMeter()) recorded = new ModelMetrics(meter, currency);
      return recorded;
    },
  };
  return {
    start: (operation, parent) => new TracedOperation(operation, contextAround(operation, parent), settings),
  };
}

/**
 * Returns the context with the parent of a new span: the enclosing operation, or a span that the application started
 * within it.
 */
function contextAround(operation: Operation, parent: ActiveOperation | undefined): Context {
  const active = context.active();
  if (parent instanceof TracedOperation) return active.getValue(CURRENT) === parent ? active : parent.context;
  const headers = operation.kind === 'run' ? operation.traceHeaders : undefined;
  return headers && !trace.getSpanContext(active) ? remoteParent(active, headers) : active;
}
