import {
  createErrorEvent,
  type Content,
  type Event,
  InvalidMessageError,
  type InvocationContext,
  type LiveRequest,
} from '@eventloom/core';
import { isFrameworkPart } from '../contents/event-content.ts';

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
    const content = acceptLiveContent ? await acceptLiveContent(given, context) : given;
    return { event: context.createEvent({ author: 'user', content }), sent: toModelRequest(content) };
  } catch (error) {
    if (!InvalidMessageError.isInstance(error)) throw error;
    return { event: createErrorEvent(context.createEvent(), error.code, error.message), sent: undefined };
  }
}

/** Answers to what a person was asked are for the runtime. */
function toModelRequest({ role = 'user', parts = [] }: Content): LiveRequest | undefined {
  if (!parts.some((part) => part.functionResponse)) return { content: { role, parts } };
  const toolResponses = parts.flatMap((part) =>
    part.functionResponse && !isFrameworkPart(part) ? [part.functionResponse] : [],
  );
  return toolResponses.length > 0 ? { toolResponses } : undefined;
}
