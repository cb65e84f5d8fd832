import type { BaseLlm, InvocationContext, Operation } from '@eventloom/core';
import type { Attributes, AttributeValue } from '@opentelemetry/api';
import type { ExportedSpan } from './exported-span.ts';
import { wordAt } from './hex.ts';
import { ProtobufWriter } from './protobuf-writer.ts';

/** Kinds and statuses of spans in OTLP, which differ from those of the API. */
const INTERNAL = 1;
const CLIENT = 3;
const ERROR = 2;

/** Wire types of protobuf: the lower three bits of a tag. */
const VARINT = 0;
const FIXED64 = 1;
const BYTES = 2;

/** Tags of the fields of OTLP 1.x, by message: the number of the field, and its wire type. */
const REQUEST = { resourceSpans: (1 << 3) | BYTES };
const RESOURCE_SPANS = { resource: (1 << 3) | BYTES, scopeSpans: (2 << 3) | BYTES };
const RESOURCE = { attributes: (1 << 3) | BYTES };
const SCOPE_SPANS = { scope: (1 << 3) | BYTES, spans: (2 << 3) | BYTES };
const SCOPE = { name: (1 << 3) | BYTES };
const SPAN = {
  traceId: (1 << 3) | BYTES,
  spanId: (2 << 3) | BYTES,
  traceState: (3 << 3) | BYTES,
  parentSpanId: (4 << 3) | BYTES,
  name: (5 << 3) | BYTES,
  kind: (6 << 3) | VARINT,
  startTime: (7 << 3) | FIXED64,
  endTime: (8 << 3) | FIXED64,
  attributes: (9 << 3) | BYTES,
  status: (15 << 3) | BYTES,
};
const STATUS = { message: (2 << 3) | BYTES, code: (3 << 3) | VARINT };
const KEY_VALUE = { key: (1 << 3) | BYTES, value: (2 << 3) | BYTES };
const VALUE = {
  text: (1 << 3) | BYTES,
  flag: (2 << 3) | VARINT,
  integer: (3 << 3) | VARINT,
  double: (4 << 3) | FIXED64,
  list: (5 << 3) | BYTES,
};
const LIST = { values: (1 << 3) | BYTES };

/** Maximum number of bytes of the tags and lengths of the request and its two inner messages. */
const MAX_LENGTHS = 24;
/** Maximum size of a buffer that is used again, in bytes. A batch of 2,048 spans without content fits. */
const MAX_SPARE = 1_048_576;

/** Maximum number of subjects whose bytes are kept. A model may call tools by any name. */
const MAX_SUBJECTS = 200;

/** The bytes of the name, kind and attributes that all operations of a kind with one subject have. */
interface SubjectBytes {
  readonly model: BaseLlm | undefined;
  readonly bytes: Uint8Array;
}

/**
 * The spans of the next request. A span is written as bytes of OTLP when it is added, so that nothing of a run stays in memory until the
 * request is sent: objects that wait would outlive collections of garbage, which costs more than writing them.
 *
 * Most attributes are those of the run, of the execution of an agent, or of a model, tool or node, and equal in many spans. Their bytes are
 * copied from an earlier span.
 */
export class OtlpBatch {
  /** Number of added spans. */
  size = 0;
  /** Number of their bytes, with those before the spans. */
  bytes = 0;
  readonly #writer = new ProtobufWriter();
  /** Writes parts of the request that are not spans. */
  readonly #shortWriter = new ProtobufWriter();
  /** The bytes of the resource and the scope, which are the same in all requests. */
  readonly #resource: Uint8Array;
  readonly #scope: Uint8Array;
  /** Number of bytes before the spans, which are free for the beginning of the request. */
  readonly #room: number;
  /** A buffer of an earlier batch. New memory for each batch would cost more than its spans take to write. */
  #spare: Uint8Array<ArrayBuffer> | undefined;
  /** Number of this batch, so that positions in an earlier one are recognized. Another one also when positions become wrong. */
  #number = 1;
  #timeMs = 0;
  #timeHigh = 0;
  #timeLow = 0;
  readonly #subjects: Readonly<Record<Operation['kind'], Map<string, SubjectBytes>>> = {
    run: new Map(),
    agent: new Map(),
    model: new Map(),
    tool: new Map(),
    node: new Map(),
  };

  constructor(resource: Attributes) {
    this.#resource = messageOf((writer) => {
      const from = writer.open(RESOURCE_SPANS.resource);
      for (const [name, value] of Object.entries(resource))
        if (value !== undefined) writeAttribute(writer, RESOURCE.attributes, name, value);
      writer.close(from);
    });
    this.#scope = messageOf((writer) => {
      const scope = writer.open(SCOPE_SPANS.scope);
      writer.text(SCOPE.name, '@eventloom/otel');
      writer.close(scope);
    });
    this.#room = this.#resource.length + this.#scope.length + MAX_LENGTHS;
    this.#writer.skip(this.#room);
  }

  /** Adds a span that has ended, once. A span that cannot be written is left out, and the error is thrown. */
  add(span: ExportedSpan): void {
    const { place } = span;
    if (!place) return;
    const from = this.#writer.length;
    try {
      this.#write(span, place);
      this.size++;
      this.bytes = this.#writer.length;
    } catch (error) {
      // The bytes of the other spans stay valid. No span may share the bytes of this one.
      this.#writer.length = from;
      this.#number++;
      throw error;
    }
  }

  #write(span: ExportedSpan, place: InvocationContext): void {
    const writer = this.#writer;
    const { endMs = span.startMs, startMs, trace } = span;
    const from = writer.openLong(SCOPE_SPANS.spans);
    this.#writeShared(span, place);
    writer.raw(this.#subjectOf(span));
    writer.twoWords(SPAN.spanId, trace.spanHigh, span.spanLow);
    if (span.parent) writer.twoWords(SPAN.parentSpanId, trace.spanHigh, span.parent.spanLow);
    else if (trace.remote)
      writer.twoWords(SPAN.parentSpanId, wordAt(trace.remote.spanId, 0), wordAt(trace.remote.spanId, 8));
    if (trace.remote?.tracestate !== undefined) writer.text(SPAN.traceState, trace.remote.tracestate);
    this.#writeTime(SPAN.startTime, startMs);
    this.#writeTime(SPAN.endTime, Math.max(startMs, endMs));
    span.describeCall(this.#add);
    span.describeEnd(this.#add);
    if (span.status === 'error') {
      const status = writer.open(SPAN.status);
      writer.integer(STATUS.code, ERROR);
      if (span.errorMessage !== undefined) writer.text(STATUS.message, span.errorMessage);
      writer.close(status);
    }
    // The positions of shared bytes in this span are no longer right.
    if (writer.closeLong(from)) this.#number++;
  }

  /**
   * Returns the body of a request with the added spans, an `ExportTraceServiceRequest`, and begins the next batch. Its memory is used again
   * after `release`.
   */
  take(): Uint8Array<ArrayBuffer> {
    const { bytes, length } = this.#writer;
    const spans = length - this.#room;
    const head = this.#shortWriter;
    head.clear();
    head.raw(this.#resource);
    head.integer(RESOURCE_SPANS.scopeSpans, this.#scope.length + spans);
    head.raw(this.#scope);
    const inner = head.toBytes();
    head.clear();
    head.integer(REQUEST.resourceSpans, inner.length + spans);
    head.raw(inner);
    const from = this.#room - head.length;
    bytes.set(head.toBytes(), from);
    this.#writer.clear(this.#spare ?? new Uint8Array(Math.min(bytes.length, MAX_SPARE)));
    this.#writer.skip(this.#room);
    this.#spare = undefined;
    this.#number++;
    this.size = 0;
    this.bytes = 0;
    return bytes.subarray(from, length);
  }

  /** Takes back the memory of a body that is no longer used. */
  release({ buffer }: Uint8Array<ArrayBuffer>): void {
    if (buffer.byteLength <= MAX_SPARE) this.#spare = new Uint8Array(buffer);
  }

  /** Writes milliseconds as nanoseconds. These exceed the precision of a number; most spans have the time of the one before. */
  #writeTime(tag: number, ms: number): void {
    if (ms !== this.#timeMs) {
      this.#timeMs = ms;
      const nanoseconds = BigInt(Math.floor(ms)) * 1_000_000n + BigInt(Math.floor((ms % 1) * 1e6));
      this.#timeHigh = Number(nanoseconds >> 32n) | 0;
      this.#timeLow = Number(nanoseconds & 0xffff_ffffn) | 0;
    }
    this.#writer.fixed64(tag, this.#timeHigh, this.#timeLow);
  }

  readonly #add = (name: string, value: AttributeValue): void =>
    writeAttribute(this.#writer, SPAN.attributes, name, value);

  /** Writes what all spans of the execution of an agent have: the trace, and the attributes of the run and of the execution. */
  #writeShared(span: ExportedSpan, place: InvocationContext): void {
    const writer = this.#writer;
    const { execution, trace, kind } = span;
    if (execution.sharedIn === this.#number) return writer.repeat(execution.sharedFrom, execution.sharedTo);
    const from = writer.length;
    const { run } = trace;
    // An agent that is called as a tool may have a session of its own.
    const isOfRun = trace.invocationId === place.invocationId && trace.sessionId === place.invocation.session.id;
    if (isOfRun && run.sharedIn === this.#number) writer.repeat(run.sharedFrom, run.sharedTo);
    else {
      writer.fourWords(SPAN.traceId, trace.id);
      span.describeRun(place, this.#add);
      if (isOfRun) this.#share(run, from);
    }
    if (kind === 'run') return;
    span.describeExecution(place, this.#add);
    this.#share(execution, from);
  }

  #share(span: ExportedSpan, from: number): void {
    span.sharedIn = this.#number;
    span.sharedFrom = from;
    span.sharedTo = this.#writer.length;
  }

  #subjectOf(span: ExportedSpan): Uint8Array {
    const { kind, subject, operation } = span;
    const model = operation?.kind === 'model' ? operation.model : undefined;
    const known = this.#subjects[kind];
    const before = known.get(subject);
    if (before && before.model === model) return before.bytes;
    const writer = this.#shortWriter;
    writer.clear();
    writer.text(SPAN.name, span.name);
    writer.integer(SPAN.kind, kind === 'model' ? CLIENT : INTERNAL);
    const add = (name: string, value: AttributeValue): void => writeAttribute(writer, SPAN.attributes, name, value);
    span.describeSubject(add);
    span.describeProvider(add);
    const bytes = writer.toBytes();
    if (known.size >= MAX_SUBJECTS) known.clear();
    known.set(subject, { model, bytes });
    return bytes;
  }
}

function messageOf(write: (writer: ProtobufWriter) => void): Uint8Array {
  const writer = new ProtobufWriter();
  write(writer);
  return writer.toBytes();
}

function writeAttribute(writer: ProtobufWriter, tag: number, name: string, value: AttributeValue): void {
  const from = writer.open(tag);
  writer.text(KEY_VALUE.key, name);
  const inner = writer.open(KEY_VALUE.value);
  writeValue(writer, value);
  writer.close(inner);
  writer.close(from);
}

function writeValue(writer: ProtobufWriter, value: unknown): void {
  if (typeof value === 'string') writer.text(VALUE.text, value);
  else if (typeof value === 'boolean') writer.integer(VALUE.flag, value ? 1 : 0);
  else if (typeof value === 'number')
    if (Number.isSafeInteger(value)) writer.integer(VALUE.integer, value);
    else writer.double(VALUE.double, value);
  else if (Array.isArray(value)) {
    const list = writer.open(VALUE.list);
    for (const each of value) {
      const from = writer.open(LIST.values);
      writeValue(writer, each);
      writer.close(from);
    }
    writer.close(list);
  }
}
