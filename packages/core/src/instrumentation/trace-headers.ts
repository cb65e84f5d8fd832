import type { TraceHeaders } from './instrumentation.ts';

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;
/** Longest `tracestate` that is passed on, as W3C Trace Context recommends. */
const MAX_TRACESTATE = 512;

/** Reads the trace headers of a request: a valid `traceparent` with its `tracestate`; undefined for a request without one. */
export function readTraceHeaders(headers: Headers): TraceHeaders | undefined {
  const traceparent = headers.get('traceparent');
  if (traceparent === null || traceparent.length > 55 || !TRACEPARENT.test(traceparent)) return undefined;
  const tracestate = headers.get('tracestate');
  return tracestate === null || tracestate.length > MAX_TRACESTATE ? { traceparent } : { traceparent, tracestate };
}
