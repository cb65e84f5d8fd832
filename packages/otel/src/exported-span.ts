import type { InvocationContext, Operation, OperationEnd, TraceHeaders } from '@eventloom/core';
import { placeOf } from '@eventloom/core/internal';
import { hexOf, wordAt } from './hex.ts';
import type { FourWords } from './protobuf-writer.ts';
import type { RandomWords } from './random-words.ts';
import { SpanRecord, type SpanSettings } from './span-record.ts';
import { type RemoteSpan, remoteSpanOf } from './trace-context.ts';

/** Takes the spans that have ended. */
export interface SpanSink {
  take(span: ExportedSpan): void;
}

/** An operation with its span. */
export class ExportedSpan extends SpanRecord {
  readonly parent: ExportedSpan | undefined;
  readonly trace: Trace;
  /** The lower half of the id; the other half is the trace's `spanHigh`. */
  readonly spanLow: number;
  /** The first span of the same execution of an agent. */
  readonly execution: ExportedSpan;
  /** The context of the agent. Undefined once the span is written. */
  place: InvocationContext | undefined;
  /** The batch, and the positions in it, at which the data is written that this span shares with others: see `OtlpBatch`. */
  sharedIn = 0;
  sharedFrom = 0;
  sharedTo = 0;
  readonly #sink: SpanSink;

  constructor(
    operation: Operation,
    parent: ExportedSpan | undefined,
    settings: SpanSettings,
    sink: SpanSink,
    random: RandomWords,
  ) {
    super(operation, settings);
    const place = placeOf(operation);
    this.parent = parent;
    this.place = place;
    this.trace = parent ? parent.trace : new Trace(this, operation, random);
    this.spanLow = this.trace.nextSpanLow();
    // An agent, its model calls and its tool calls have one context.
    this.execution = parent !== undefined && parent.kind !== 'run' && parent.place === place ? parent.execution : this;
    this.#sink = sink;
  }

  traceHeaders(): TraceHeaders {
    const { remote, isSampled, id, spanHigh } = this.trace;
    const traceId = id.map(hexOf).join('');
    const traceparent = `00-${traceId}-${hexOf(spanHigh)}${hexOf(this.spanLow)}-0${isSampled ? 1 : 0}`;
    return remote?.tracestate === undefined ? { traceparent } : { traceparent, tracestate: remote.tracestate };
  }

  override end(end: OperationEnd): void {
    super.end(end);
    try {
      if (this.trace.isSampled) this.#sink.take(this);
    } finally {
      this.operation = undefined;
      this.place = undefined;
    }
  }
}

/**
 * The trace of a run. The ids of its spans begin at a random number of 64 bits and follow each other at a distance that scatters them: one
 * random number for each run is enough, because ids have to be unique only within a trace.
 */
class Trace {
  /** The span of the run. */
  readonly run: ExportedSpan;
  readonly invocationId: string;
  readonly sessionId: string;
  /** The span of another service that the run belongs to. */
  readonly remote: RemoteSpan | undefined;
  readonly isSampled: boolean;
  readonly id: FourWords;
  readonly spanHigh: number;
  #nextLow: number;

  constructor(run: ExportedSpan, operation: Operation, random: RandomWords) {
    const { invocation, invocationId } = placeOf(operation);
    this.run = run;
    this.invocationId = invocationId;
    this.sessionId = invocation.session.id;
    const headers = operation.kind === 'run' ? operation.traceHeaders : undefined;
    const remote = headers && remoteSpanOf(headers);
    this.remote = remote;
    this.isSampled = remote?.traceFlags !== 0;
    // An id must not be all zeros.
    this.id = remote
      ? [wordAt(remote.traceId, 0), wordAt(remote.traceId, 8), wordAt(remote.traceId, 16), wordAt(remote.traceId, 24)]
      : [random.next() || 1, random.next(), random.next(), random.next()];
    this.spanHigh = random.next() || 1;
    this.#nextLow = random.next();
  }

  nextSpanLow(): number {
    return (this.#nextLow = (this.#nextLow + 0x9e_37_79_b1) | 0);
  }
}
