import type { Attributes } from '@opentelemetry/api';
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
 * Returns the body of a request with spans: JSON of `ExportTraceServiceRequest`, OTLP 1.x. It is assembled as text,
 * because objects for so many attributes would cost several times as much.
 */
export function toRequestJson(spans: readonly SentSpan[], resource: Attributes): string {
  let written = '';
  for (const span of spans) written += `${written === '' ? '' : ','}${spanJson(span)}`;
  return `{"resourceSpans":[{"resource":{"attributes":[${keyValues(resource)}]},"scopeSpans":[{"scope":{"name":"@eventloom/otel"},"spans":[${written}]}]}]}`;
}

function spanJson(span: SentSpan): string {
  const { startMs, endMs = startMs, errorMessage, remote } = span;
  const parentSpanId = span.parent?.spanId ?? remote?.spanId;
  const parent = parentSpanId === undefined ? '' : `,"parentSpanId":"${parentSpanId}"`;
  const tracestate = remote?.tracestate === undefined ? '' : `,"traceState":${JSON.stringify(remote.tracestate)}`;
  const message = errorMessage === undefined ? '' : `,"message":${JSON.stringify(errorMessage)}`;
  const status = span.status === 'error' ? `{"code":${ERROR}${message}}` : '{}';
  const times = `"startTimeUnixNano":"${toNanoseconds(startMs)}","endTimeUnixNano":"${toNanoseconds(Math.max(startMs, endMs))}"`;
  const kind = span.kind === 'model' ? CLIENT : INTERNAL;
  const end = keyValues(span.endAttributes());
  const attributes = `${keyValues(span.startAttributes())}${end === '' ? '' : `,${end}`}`;
  return `{"traceId":"${span.traceId}","spanId":"${span.spanId}"${parent}${tracestate},"name":${JSON.stringify(span.name)},"kind":${kind},${times},"attributes":[${attributes}],"status":${status}}`;
}

/** Returns nanoseconds since the epoch as text, because they exceed the precision of a number. */
function toNanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${ms === whole ? '000000' : String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`;
}

function keyValues(attributes: Attributes): string {
  let written = '';
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    written += `${written === '' ? '' : ','}{"key":${JSON.stringify(key)},"value":${valueJson(value)}}`;
  }
  return written;
}

function valueJson(value: unknown): string {
  if (typeof value === 'string') return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === 'boolean') return `{"boolValue":${value}}`;
  if (typeof value === 'number') {
    if (Number.isInteger(value)) return `{"intValue":"${value}"}`;
    // Infinity and NaN are texts in this format.
    return `{"doubleValue":${Number.isFinite(value) ? value : `"${value}"`}}`;
  }
  return Array.isArray(value) ? `{"arrayValue":{"values":[${value.map(valueJson).join(',')}]}}` : '{}';
}
