import { openTelemetry } from '@eventloom/otel';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Instrumentation } from 'eventloom';

/** Prices of a million tokens, for the costs in the spans. */
const prices = { 'gemini-flash-latest': { input: 0.3, output: 2.5 } };

/** The instrumentation of a runner, and the end of its work. */
export interface Tracing {
  readonly instrumentation: Instrumentation;
  /** Exports the spans that wait. */
  readonly flush: () => Promise<void>;
}

/**
 * Traces runs with OpenTelemetry and prints the spans. To send them to a service, replace this exporter by that of the service: `new
 * OTLPTraceExporter()` of `@opentelemetry/exporter-trace-otlp-http`.
 */
export function printSpans(print: (line: string) => void): Tracing {
  const spanProcessors = [new BatchSpanProcessor({ exporter: new TreeExporter(print) })];
  const tracerProvider = new TracerProvider({ spanProcessors });
  return {
    instrumentation: openTelemetry({ tracerProvider, prices }),
    flush: () => tracerProvider.forceFlush(),
  };
}

/** Prints each batch of spans as a tree. */
class TreeExporter implements SpanExporter {
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  export(spans: ReadableSpan[], done: (result: { code: 0 }) => void): void {
    const byStart = spans.toSorted((a, b) => millisecondsOf(a.startTime) - millisecondsOf(b.startTime));
    const known = new Set(spans.map((span) => span.spanContext().spanId));
    const printBelow = (parent: string | undefined, indent: string): void => {
      for (const span of byStart) {
        const id = span.parentSpanContext?.spanId;
        if ((id !== undefined && known.has(id) ? id : undefined) !== parent) continue;
        this.#print(`${indent}${span.name}  ${described(span)}`.trimEnd());
        printBelow(span.spanContext().spanId, `${indent}  `);
      }
    };
    printBelow(undefined, '  ');
    done({ code: 0 });
  }

  shutdown(): Promise<void> {
    return Promise.resolve();
  }

  forceFlush(): Promise<void> {
    return Promise.resolve();
  }
}

const millisecondsOf = ([seconds, nanoseconds]: ReadableSpan['startTime']): number =>
  seconds * 1000 + nanoseconds / 1e6;

/** The attributes that a person looks for first. */
const SHOWN = ['gen_ai.usage.input_tokens', 'gen_ai.usage.output_tokens', 'eventloom.cost', 'error.type'];

function described({ attributes }: ReadableSpan): string {
  return SHOWN.flatMap((name) => {
    const value = attributes[name];
    return typeof value === 'number' || typeof value === 'string' ? [`${name.split('.').at(-1)} ${value}`] : [];
  }).join(', ');
}
