import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { SpanRecord } from './span-record.ts';
import type { RemoteSpan } from './trace-context.ts';

/** Kinds and statuses of spans in OTLP, which differ from those of the API. */
const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;

/** A span, and its parent in another service. */
interface SentSpan extends SpanRecord {
  readonly remote: RemoteSpan | undefined;
}

/**
 * Returns the body of a request with spans: JSON of `ExportTraceServiceRequest`, OTLP 1.x. It is assembled as text, because creating
 * objects for all attributes would take several times as long.
 */
export function toRequestJson(spans: readonly SentSpan[], resource: Attributes): string {
  const writer = new SpanWriter();
  let resourceAttributes = '';
  for (const [name, value] of Object.entries(resource))
    if (value !== undefined) resourceAttributes += `${resourceAttributes && ','}${toJson(name, value)}`;
  let written = '';
  for (const span of spans) written += `${written === '' ? '' : ','}${writer.write(span)}`;
  return `{"resourceSpans":[{"resource":{"attributes":[${resourceAttributes}]},"scopeSpans":[{"scope":{"name":"@eventloom/otel"},"spans":[${written}]}]}]}`;
}

/** Returns nanoseconds since the epoch as text, because they exceed the precision of a number. */
function toNanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${ms === whole ? '000000' : String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`;
}

/**
 * Writes the spans of a batch as JSON. Most of their attributes are those of the run, of the execution of an agent, or of a
 * model, tool or node, and equal in many spans: their JSON is made once.
 */
class SpanWriter {
  readonly #runs = new Map<string, string>();
  readonly #executions = new Map<string, string>();
  readonly #subjects: Readonly<Record<SentSpan['kind'], Map<string, string>>> = {
    run: new Map(),
    agent: new Map(),
    model: new Map(),
    tool: new Map(),
    node: new Map(),
  };
  #attributes = '';

  readonly #add = (name: string, value: AttributeValue): void => {
    this.#attributes += `,${toJson(name, value)}`;
  };

  write(span: SentSpan): string {
    const { kind, subject, invocationId, executionId, startMs, endMs = startMs, errorMessage, remote } = span;
    let start = this.#subjects[kind].get(subject);
    if (start === undefined) {
      span.describeSubject(this.#add);
      start = `,"name":${JSON.stringify(span.name)},"kind":${kind === 'model' ? CLIENT : INTERNAL},"attributes":[${this.#take().slice(1)}`;
      this.#subjects[kind].set(subject, start);
    }
    let ofRun = this.#runs.get(invocationId);
    if (ofRun === undefined) {
      span.describeRun(this.#add);
      this.#runs.set(invocationId, (ofRun = this.#take()));
    }
    let ofExecution = kind === 'run' ? '' : this.#executions.get(executionId);
    if (ofExecution === undefined) {
      span.describeExecution(this.#add);
      this.#executions.set(executionId, (ofExecution = this.#take()));
    }
    span.describeProvider(this.#add);
    span.describeCall(this.#add);
    span.describeEnd(this.#add);
    const parentSpanId = span.parent?.spanId ?? remote?.spanId;
    const parent = parentSpanId === undefined ? '' : `,"parentSpanId":"${parentSpanId}"`;
    const tracestate = remote?.tracestate === undefined ? '' : `,"traceState":${JSON.stringify(remote.tracestate)}`;
    const message = errorMessage === undefined ? '' : `,"message":${JSON.stringify(errorMessage)}`;
    const status = span.status === 'error' ? `{"code":${ERROR}${message}}` : '{}';
    const times = `"startTimeUnixNano":"${toNanoseconds(startMs)}","endTimeUnixNano":"${toNanoseconds(Math.max(startMs, endMs))}"`;
    return `{"traceId":"${span.traceId}","spanId":"${span.spanId}"${parent}${tracestate}${start}${ofRun}${ofExecution}${this.#take()}],${times},"status":${status}}`;
  }

  /** Returns the attributes since the last call, each after a comma. */
  #take(): string {
    const attributes = this.#attributes;
    this.#attributes = '';
    return attributes;
  }
}

function toJson(name: string, value: AttributeValue): string {
  return `{"key":${JSON.stringify(name)},"value":${valueJson(value)}}`;
}

function valueJson(value: unknown): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  if (typeof value === 'number') {
    if (Number.isInteger(value)) return `{"intValue":"${value}"}`;
    // Infinity and NaN are strings in this format.
    return `{"doubleValue":${Number.isFinite(value) ? value : `"${value}"`}}`;
  }
  return Array.isArray(value) ? `{"arrayValue":{"values":[${value.map(valueJson).join(',')}]}}` : '{}';
}
