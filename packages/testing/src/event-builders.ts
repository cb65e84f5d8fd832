import {
  createEvent,
  type Content,
  type Event,
  type EventParams,
  type FunctionCall,
  type FunctionResponse,
  type Part,
} from '@eventloom/core';

/** Other fields of an event that a builder creates. */
export type EventExtras = Omit<EventParams, 'content'>;

/** Creates an event of the user. Its id, timestamp and invocation id stay empty unless given; the runner fills them in. */
export function userEvent(content: string | readonly Part[], extras: EventExtras = {}): Event {
  return build({ author: 'user', ...extras, content: contentOf('user', content) });
}

/** Creates an event of an agent. */
export function modelEvent(author: string, content: string | readonly Part[], extras: EventExtras = {}): Event {
  return build({ author, ...extras, content: contentOf('model', content) });
}

/** Creates an event with which an agent's model calls functions. */
export function functionCallEvent(author: string, calls: readonly FunctionCall[], extras: EventExtras = {}): Event {
  return modelEvent(
    author,
    calls.map((functionCall) => ({ functionCall })),
    extras,
  );
}

/** Creates an event with which an agent returns function responses to its model. */
export function functionResponseEvent(
  author: string,
  responses: readonly FunctionResponse[],
  extras: EventExtras = {},
): Event {
  const parts = responses.map((functionResponse) => ({ functionResponse }));
  return build({ author, ...extras, content: contentOf('user', parts) });
}

function build(params: EventParams): Event {
  const { id = '', timestamp = 0 } = params;
  return { ...createEvent(params), id, timestamp };
}

function contentOf(role: string, content: string | readonly Part[]): Content {
  return { role, parts: typeof content === 'string' ? [{ text: content }] : [...content] };
}
