import {
  type Content,
  type Event,
  type EventloomError,
  InvalidMessageError,
  type InvocationContext,
  type LiveRequest,
} from '@eventloom/core';
import { createErrorEvent, type SessionCall, sessionKeyOf } from '@eventloom/core/internal';
import { isFrameworkPart } from '@eventloom/llm-agent/internal';

/** A written request: a turn, or responses to calls. */
export type WrittenRequest = Extract<LiveRequest, { readonly content: unknown } | { readonly toolResponses: unknown }>;

interface AcceptedMessage {
  /** The event to store, or a refusal. */
  readonly event: Event;
  /** The request as the model gets it; undefined when it is not for the model. */
  readonly sent: LiveRequest | undefined;
}

/** Checks a written request of the client. A request that is refused becomes an error event that is not stored. */
export async function acceptWritten(context: InvocationContext, request: WrittenRequest): Promise<AcceptedMessage> {
  const given: Content =
    'content' in request
      ? request.content
      : { role: 'user', parts: request.toolResponses.map((functionResponse) => ({ functionResponse })) };
  try {
    const { message: content, calls, answers } = await context.invocation.host.readMessage(context, given);
    await answers?.keepCredentials(sessionKeyOf(context.session));
    return { event: context.createEvent({ author: 'user', content }), sent: toModelRequest(content, calls) };
  } catch (error) {
    if (!InvalidMessageError.isInstance(error)) throw error;
    return { event: createRefusal(context, error), sent: undefined };
  }
}

/** Creates the error event for a request that is refused. It is streamed and not stored, because the session has nothing of the request. */
export function createRefusal(context: InvocationContext, { code, message }: EventloomError): Event {
  return createErrorEvent({ ...context.createEvent(), partial: true }, code, message);
}

/**
 * Returns the message as the model gets it. Answers to the runtime's requests to a person are for the runtime alone.
 * @param calls the calls that the responses answer, in the order of the responses
 */
function toModelRequest(
  { role = 'user', parts = [] }: Content,
  calls: readonly SessionCall[],
): LiveRequest | undefined {
  const responses = parts.filter((part) => part.functionResponse);
  if (responses.length === 0) return { content: { role, parts } };
  const toolResponses = responses.flatMap((part, index) =>
    part.functionResponse && !isFrameworkPart(part, calls[index]?.call) ? [part.functionResponse] : [],
  );
  return toolResponses.length > 0 ? { toolResponses } : undefined;
}
