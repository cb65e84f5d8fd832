import { EventloomError } from '@eventloom/core';

/** Spans did not reach the collector, or did not fit into the queue. Reported to the platform; runs are not affected. */
export class SpanExportError extends EventloomError {
  static override readonly code = 'SPAN_EXPORT';
}
