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
  const list = new AttributeList();
  for (const [name, value] of Object.entries(resource)) if (value !== undefined) list.add(name, value);
  const resourceAttributes = list.take();
  let written = '';
  for (const span of spans) {
    span.describeStart(list.add);
    span.describeEnd(list.add);
    written += `${written === '' ? '' : ','}${spanJson(span, list.take())}`;
  }
  return `{"resourceSpans":[{"resource":{"attributes":[${resourceAttributes}]},"scopeSpans":[{"scope":{"name":"@eventloom/otel"},"spans":[${written}]}]}]}`;
}

function spanJson(span: SentSpan, attributes: string): string {
  const { startMs, endMs = startMs, errorMessage, remote } = span;
  const parentSpanId = span.parent?.spanId ?? remote?.spanId;
  const parent = parentSpanId === undefined ? '' : `,"parentSpanId":"${parentSpanId}"`;
  const tracestate = remote?.tracestate === undefined ? '' : `,"traceState":${JSON.stringify(remote.tracestate)}`;
  const message = errorMessage === undefined ? '' : `,"message":${JSON.stringify(errorMessage)}`;
  const status = span.status === 'error' ? `{"code":${ERROR}${message}}` : '{}';
  const times = `"startTimeUnixNano":"${toNanoseconds(startMs)}","endTimeUnixNano":"${toNanoseconds(Math.max(startMs, endMs))}"`;
  const kind = span.kind === 'model' ? CLIENT : INTERNAL;
  return `{"traceId":"${span.traceId}","spanId":"${span.spanId}"${parent}${tracestate},"name":${JSON.stringify(span.name)},"kind":${kind},${times},"attributes":[${attributes}],"status":${status}}`;
}

/** Returns nanoseconds since the epoch as text, because they exceed the precision of a number. */
function toNanoseconds(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${ms === whole ? '000000' : String(Math.floor((ms - whole) * 1e6)).padStart(6, '0')}`;
}

/** Maximum length of a text whose JSON is reused, in characters: names and ids, but not content. */
const MAX_KNOWN = 100;

/** Writes attributes as JSON. Many attributes of a batch are equal, such as names and ids of runs; their JSON is created once. */
class AttributeList {
  /** The JSON of short texts, by the name of the attribute and the text. */
  readonly #known = new Map<string, Map<string, string>>();
  #written = '';

  readonly add = (name: string, value: AttributeValue): void => {
    const json =
      typeof value === 'string' && value.length <= MAX_KNOWN ? this.#textJson(name, value) : toJson(name, value);
    this.#written += this.#written === '' ? json : `,${json}`;
  };

  /** Returns the attributes since the last call. */
  take(): string {
    const written = this.#written;
    this.#written = '';
    return written;
  }

  #textJson(name: string, text: string): string {
    let texts = this.#known.get(name);
    if (!texts) this.#known.set(name, (texts = new Map()));
    let json = texts.get(text);
    if (json === undefined) texts.set(text, (json = toJson(name, text)));
    return json;
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
