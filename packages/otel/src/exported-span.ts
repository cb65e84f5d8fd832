import type { Operation, OperationEnd, TraceHeaders } from '@eventloom/core';
import { digitAt } from './protobuf-writer.ts';
import { SpanRecord, type SpanSettings } from './span-record.ts';
import { type RemoteSpan, remoteSpanOf } from './trace-context.ts';

/** Takes the spans that have ended. */
interface SpanSink {
  take(span: ExportedSpan): void;
}

/** An operation with its span. */
export class ExportedSpan extends SpanRecord {
  declare readonly parent: ExportedSpan | undefined;
  readonly trace: Trace;
  /** The lower half of the id; the other half is the trace's `spanHigh`. */
  readonly spanLow: number;
  /** The first span of the same execution of an agent. */
  readonly execution: ExportedSpan;
  /** The batch, and the positions in it, at which the data is written that this span shares with others: see `OtlpBatch`. */
  sharedIn = 0;
  sharedFrom = 0;
  sharedTo = 0;
  readonly #sink: SpanSink;

  constructor(operation: Operation, parent: ExportedSpan | undefined, settings: SpanSettings, sink: SpanSink) {
    super(operation, parent, settings);
    this.#sink = sink;
    if (parent) this.trace = parent.trace;
    else {
      const headers = operation.kind === 'run' ? operation.traceHeaders : undefined;
      this.trace = new Trace(this, headers && remoteSpanOf(headers));
    }
    this.spanLow = this.trace.nextSpanLow();
    const isInExecution =
      parent !== undefined &&
      parent.kind !== 'run' &&
      parent.executionId === this.executionId &&
      parent.agentName === this.agentName;
    this.execution = isInExecution ? parent.execution : this;
  }

  override get traceId(): string {
    return this.trace.digits.replaceAll('-', '');
  }

  override get spanId(): string {
    return hexOf(this.trace.spanHigh) + hexOf(this.spanLow);
  }

  traceHeaders(): TraceHeaders {
    const { remote, isSampled } = this.trace;
    const traceparent = `00-${this.traceId}-${this.spanId}-0${isSampled ? 1 : 0}`;
    return remote?.tracestate === undefined ? { traceparent } : { traceparent, tracestate: remote.tracestate };
  }

  override end(end: OperationEnd): void {
    super.end(end);
    if (this.trace.isSampled) this.#sink.take(this);
  }
}

/**
 * The trace of a run. The ids of its spans begin at a random number of 64 bits and follow each other at a distance that scatters them: one
 * random number for each run is enough, because ids have to be unique only within a trace.
 */
class Trace {
  /** The span of the run. */
  readonly run: ExportedSpan;
  /** The span of another service that the run belongs to. */
  readonly remote: RemoteSpan | undefined;
  readonly isSampled: boolean;
  /** 32 hexadecimal digits, perhaps with dashes. */
  readonly digits: string;
  readonly spanHigh: number;
  #nextLow: number;

  constructor(run: ExportedSpan, remote: RemoteSpan | undefined) {
    const uuid = run.platform.newUuid();
    this.run = run;
    this.remote = remote;
    this.isSampled = remote?.traceFlags !== 0;
    this.digits = remote?.traceId ?? uuid;
    // An id must not be all zeros.
    this.spanHigh = wordAt(uuid, 0) || 1;
    this.#nextLow = wordAt(uuid, uuid.length - 8);
  }

  nextSpanLow(): number {
    return (this.#nextLow = (this.#nextLow + 0x9e_37_79_b1) >>> 0);
  }
}

/** Returns the number that eight hexadecimal digits of a text stand for. */
function wordAt(text: string, from: number): number {
  let word = 0;
  for (let index = from; index < from + 8; index++) word = (word << 4) | digitAt(text, index);
  return word >>> 0;
}

function hexOf(word: number): string {
  return word.toString(16).padStart(8, '0');
}
