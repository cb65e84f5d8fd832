import {
  createEvent,
  type Content,
  type Event,
  type EventParams,
  type FunctionCall,
  type FunctionResponse,
  type Part,
} from '@eventloom/core';

/** Further fields of an event that a builder makes. */
export type EventExtras = Omit<EventParams, 'content'>;

/** Makes an event of the user. Id, timestamp and invocation id stay empty unless given, as with `createEvent`. */
export function userEvent(content: string | readonly Part[], extras: EventExtras = {}): Event {
  return createEvent({ author: 'user', ...extras, content: contentOf('user', content) });
}

/** Makes an event of an agent. */
export function modelEvent(author: string, content: string | readonly Part[], extras: EventExtras = {}): Event {
  return createEvent({ author, ...extras, content: contentOf('model', content) });
}

/** An agent calls functions. */
export function functionCallEvent(author: string, calls: readonly FunctionCall[], extras: EventExtras = {}): Event {
  return modelEvent(
    author,
    calls.map((functionCall) => ({ functionCall })),
    extras,
  );
}

/** An agent gives the model what its functions answered. */
export function functionResponseEvent(
  author: string,
  responses: readonly FunctionResponse[],
  extras: EventExtras = {},
): Event {
  const parts = responses.map((functionResponse) => ({ functionResponse }));
  return createEvent({ author, ...extras, content: contentOf('user', parts) });
}

function contentOf(role: string, content: string | readonly Part[]): Content {
  return { role, parts: typeof content === 'string' ? [{ text: content }] : [...content] };
}
