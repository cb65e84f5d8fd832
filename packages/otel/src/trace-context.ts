import type { TraceHeaders } from '@eventloom/core';
import { type Context, createTraceState, isSpanContextValid, trace } from '@opentelemetry/api';

/** A later version may have further fields. */
const TRACEPARENT = /^(?:00(?=.{53}$)|(?!00|ff)[\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;

/** The span of another service, as the headers of a request name it. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** 1 if the other service records the trace, otherwise 0. */
  readonly traceFlags: number;
  readonly tracestate: string | undefined;
}

/** Returns the span that headers name; undefined if they name none. */
export function remoteSpanOf({ traceparent, tracestate }: TraceHeaders): RemoteSpan | undefined {
  const [, traceId, spanId, flags] = typeof traceparent === 'string' ? (TRACEPARENT.exec(traceparent) ?? []) : [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  if (!isSpanContextValid({ traceId, spanId, traceFlags })) return undefined;
  return { traceId, spanId, traceFlags, tracestate: typeof tracestate === 'string' ? tracestate : undefined };
}

/** Returns a context whose span is the one that the headers name; the given context if they name none. */
export function remoteParent(around: Context, headers: TraceHeaders): Context {
  const remote = remoteSpanOf(headers);
  if (!remote) return around;
  const { tracestate, ...named } = remote;
  const traceState = tracestate === undefined ? {} : { traceState: createTraceState(tracestate) };
  return trace.setSpanContext(around, { ...named, isRemote: true, ...traceState });
}

/** Returns the headers that name the span of a context; none if it has no recorded span. */
export function traceHeadersOf(around: Context): TraceHeaders {
  const spanContext = trace.getSpanContext(around);
  if (!spanContext || !isSpanContextValid(spanContext)) return {};
  const { traceId, spanId, traceFlags, traceState } = spanContext;
  const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`;
  const tracestate = traceState?.serialize();
  return tracestate ? { traceparent, tracestate } : { traceparent };
}
