import type { TraceHeaders } from '@eventloom/core';
import { type Context, createTraceState, isSpanContextValid, trace } from '@opentelemetry/api';

const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/;

/** Returns a context whose span is the one that the headers name; the given context if they name none. */
export function remoteParent(around: Context, headers: TraceHeaders): Context {
  const { traceparent, tracestate } = headers;
  const [, traceId, spanId, flags] = typeof traceparent === 'string' ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return around;
  const spanContext = {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(typeof tracestate === 'string' && { traceState: createTraceState(tracestate) }),
  };
  return isSpanContextValid(spanContext) ? trace.setSpanContext(around, spanContext) : around;
}

/** Returns the headers that name the span of a context; none if it has no span that is traced. */
export function traceHeadersOf(around: Context): TraceHeaders {
  const spanContext = trace.getSpanContext(around);
  if (!spanContext || !isSpanContextValid(spanContext)) return {};
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}
