import {
  type Content,
  createErrorEvent,
  type Event,
  InvalidMessageError,
  type InvocationContext,
  type LiveRequest,
  sessionKeyOf,
} from '@eventloom/core';
import { isFrameworkPart } from '@eventloom/llm-agent/internal';

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
  const given: Content =
    'content' in request
      ? request.content
      : { role: 'user', parts: request.toolResponses.map((functionResponse) => ({ functionResponse })) };
  try {
    const content = await accept(context, given);
    return { event: context.createEvent({ author: 'user', content }), sent: toModelRequest(content) };
  } catch (error) {
    if (!InvalidMessageError.isInstance(error)) throw error;
    return { event: createErrorEvent(context.createEvent(), error.code, error.message), sent: undefined };
  }
}

/** What a client says as it is stored: as plugins want it, and without the credentials in it. */
async function accept(invocationContext: InvocationContext, given: Content): Promise<Content> {
  const { invocation, plugins, session } = invocationContext;
  let read = await invocation.readMessage?.(given);
  const userMessage = read?.message ?? given;
  const replaced = await plugins.first('onUserMessageCallback', { invocationContext, userMessage });
  if (replaced) read = await invocation.readMessage?.(replaced, read?.answers);
  await read?.answers?.keepCredentials(sessionKeyOf(session));
  return read?.message ?? replaced ?? given;
}

/** Answers to what a person was asked are for the runtime. */
function toModelRequest({ role = 'user', parts = [] }: Content): LiveRequest | undefined {
  if (!parts.some((part) => part.functionResponse)) return { content: { role, parts } };
  const toolResponses = parts.flatMap((part) =>
    part.functionResponse && !isFrameworkPart(part) ? [part.functionResponse] : [],
  );
  return toolResponses.length > 0 ? { toolResponses } : undefined;
}
