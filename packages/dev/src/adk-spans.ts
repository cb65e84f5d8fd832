import { type Event, getFunctionResponses } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import type { StoredSpan } from './span-store.ts';

/** A span in the shape of the ADK's servers. Times are nanoseconds since the epoch. */
export interface AdkSpan {
  readonly name: string;
  readonly span_id: string;
  readonly trace_id: string;
  readonly parent_span_id: string | null;
  readonly start_time: number;
  readonly end_time: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/**
 * Returns spans as adk-web reads them: model calls are named `call_llm` and have the request and the response, and spans of calls name the
 * event that holds their result.
 */
export function toAdkSpans(spans: readonly StoredSpan[], events: readonly Event[]): AdkSpan[] {
  const eventOf = linkEvents(spans, events);
  return spans.map((span) => {
    const { attributes, kind, startMs, endMs = startMs } = span;
    const event = eventOf.get(span.spanId);
    const { 'eventloom.request': request, 'eventloom.response': response, ...others } = attributes;
    // Without the name of its subject.
    const operation = kind === 'model' ? 'call_llm' : span.name.replace(/ .*/s, '');
    return {
      name: kind === 'model' ? operation : span.name,
      span_id: span.spanId,
      trace_id: span.traceId,
      parent_span_id: span.parentSpanId ?? null,
      start_time: Math.round(startMs * 1e6),
      end_time: Math.round(Math.max(endMs, startMs) * 1e6),
      attributes: {
        ...others,
        'gen_ai.operation.name': operation,
        'gcp.vertex.agent.session_id': attributes['gen_ai.conversation.id'],
        'gcp.vertex.agent.invocation_id': attributes['eventloom.invocation_id'],
        ...(event && { 'gcp.vertex.agent.event_id': event.id, 'gcp.vertex.agent.associated_event_ids': [event.id] }),
        ...(request === undefined ? {} : { 'gcp.vertex.agent.llm_request': request }),
        ...(response === undefined ? {} : { 'gcp.vertex.agent.llm_response': response }),
      },
    };
  });
}

/**
 * Returns the event with the result of each call: of a model call the first one of its agent after its start, of a tool
 * call its response.
 */
function linkEvents(spans: readonly StoredSpan[], events: readonly Event[]): ReadonlyMap<string, Event> {
  const linked = new Map<string, Event>();
  // Spans of rewound events are shown too, so the rewinds are left out.
  const calls = new Calls(events.filter(({ actions }) => actions.rewindBeforeInvocationId === undefined));
  // The execution of an agent gives the responses to its calls, also to those that waited since an earlier run.
  const responses = Map.groupBy(
    calls.all.flatMap(({ id, responses: given }) => given.map(({ event }) => ({ id, event }))),
    ({ id, event }) => callKey(event.executionId, id),
  );
  const replies = Map.groupBy(
    events.filter((event) => event.author !== 'user' && getFunctionResponses(event).length === 0 && isReply(event)),
    ({ executionId = '' }) => executionId,
  );
  /** Number of replies of each execution that belong to earlier spans. */
  const taken = new Map<string, number>();
  for (const { spanId, kind, startMs, attributes } of spans) {
    if (kind === 'tool') {
      const own = responses.get(callKey(attributes['eventloom.execution_id'], attributes['gen_ai.tool.call.id'])) ?? [];
      // Models may reuse an id in each reply.
      const response = own.find(({ event }) => event.timestamp * 1000 >= startMs) ?? own.at(-1);
      if (response) linked.set(spanId, response.event);
    } else if (kind === 'model') {
      const execution = String(attributes['eventloom.execution_id']);
      const own = replies.get(execution) ?? [];
      const at = own.findIndex(
        ({ timestamp }, index) => index >= (taken.get(execution) ?? 0) && timestamp * 1000 >= startMs,
      );
      const event = own[at];
      if (!event) continue;
      taken.set(execution, at + 1);
      linked.set(spanId, event);
    }
  }
  return linked;
}

function callKey(executionId: unknown, callId: unknown): string {
  return JSON.stringify([executionId, callId]);
}

function isReply({ content, errorCode }: Event): boolean {
  return content !== undefined || errorCode !== undefined;
}
