import { InvalidEventError, toError } from '../errors.ts';
import type { Event } from './event.ts';
import { createEventActions } from './event-actions.ts';
import { mergeTags } from './event-tags.ts';
import { CONTENT, EVENT } from './event-shape.ts';
import { documentOf } from './read-json.ts';

/**
 * An event from JSON text or from what `JSON.parse` gave. Accepts camelCase and snake_case (camelCase wins), RFC 3339
 * timestamps, nulls (left out) and keys it does not know (kept). What the user owns (keys in `stateDelta`, `agentState`,
 * `customMetadata`, `args`, `response`) is never renamed.
 *
 * @throws InvalidEventError that names the path at fault.
 */
export function parseEvent(json: unknown): Event {
  return readEvent(typeof json === 'string' ? parseJson(json) : json, 'event');
}

/**
 * A content from JSON, in either spelling.
 * @throws InvalidEventError that names the path at fault; `path` is what that path starts with.
 */
export function parseContent(json: unknown, path = 'content'): NonNullable<Event['content']> {
  return documentOf(CONTENT)(json, path);
}

/** `parseEvent` for what is JSON already; `path` is what the path at fault starts with. */
export function readEvent(json: unknown, path: string): Event {
  const { tag, ...fields } = documentOf(EVENT)(json, path);
  if (typeof tag === 'string') {
    const tags = mergeTags(fields['tags'] as string[] | undefined, tag);
    if (tags.length > 0) fields['tags'] = tags;
  }
  return {
    ...fields,
    id: required(fields, 'id', ''),
    invocationId: required(fields, 'invocationId', ''),
    author: required(fields, 'author', ''),
    timestamp: required(fields, 'timestamp', 0),
    actions: createEventActions(fields['actions'] as object | undefined),
  };
}

function required<T>(fields: Record<string, unknown>, key: string, fallback: T): T {
  return (fields[key] as T | undefined) ?? fallback;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidEventError(`event: not JSON: ${toError(cause).message}`, { cause, path: 'event' });
  }
}
