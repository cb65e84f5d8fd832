import {
  createErrorEvent,
  type Content,
  type Event,
  getFunctionResponses,
  InvalidMessageError,
  type InvocationContext,
  type LiveRequest,
} from '@eventloom/core';
import { isFrameworkPart, withoutClientId } from '../contents/event-content.ts';
import { answersTo, type ResumedCalls } from '../step/resumed-calls.ts';

/** What a client writes: a turn, or answers to calls. */
export type WrittenRequest = Extract<LiveRequest, { readonly content: unknown } | { readonly toolResponses: unknown }>;

/** What comes of what a client wrote. */
export interface TakenIn {
  /** What is stored of it, or an error event that says why it was not taken. */
  readonly event: Event;
  /** What the model is told; undefined when it was not for the model. */
  readonly sent: LiveRequest | undefined;
}

/** What a client wrote, checked. What cannot be taken is told and left out: the call goes on. */
export async function takeInWritten(context: InvocationContext, request: WrittenRequest): Promise<TakenIn> {
  const { acceptLiveContent } = context.invocation;
  const given: Content =
    'content' in request
      ? request.content
      : { role: 'user', parts: request.toolResponses.map((functionResponse) => ({ functionResponse })) };
  try {
    const content = acceptLiveContent ? await acceptLiveContent(given) : given;
    return { event: context.createEvent({ author: 'user', content }), sent: toModelRequest(content, request) };
  } catch (error) {
    if (!InvalidMessageError.isInstance(error)) throw error;
    return { event: createErrorEvent(context.createEvent(), error.code, error.message), sent: undefined };
  }
}

/** Answers to what a person was asked are for the runtime, and the model knows no id that the runtime gave. */
function toModelRequest({ parts = [] }: Content, request: WrittenRequest): LiveRequest | undefined {
  if (!parts.some((part) => part.functionResponse)) return request;
  const toolResponses = parts.flatMap((part) => {
    const { functionResponse } = isFrameworkPart(part) ? {} : withoutClientId(part);
    return functionResponse ? [functionResponse] : [];
  });
  return toolResponses.length > 0 ? { toolResponses } : undefined;
}

/** The calls of the agent that go on, or are over, because of what a person answered in this event. */
export function resumedBy(context: InvocationContext, event: Event): ResumedCalls {
  const ids = getFunctionResponses(event).map(({ id = '' }) => id);
  return ids.length > 0 ? answersTo(context.session.events, ids, context).resumed : NONE;
}

const NONE: ResumedCalls = new Map();
