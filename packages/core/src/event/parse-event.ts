import type { Content } from '../content/content.ts';
import { InvalidEventError, toError } from '../errors.ts';
import type { Event } from './event.ts';
import { mergeTags } from './event-tags.ts';
import { CONTENT, EVENT } from './event-shape.ts';
import { checkDepth, readField } from './read-json.ts';

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
export function parseContent(json: unknown, path = 'content'): Content {
  return readContent(json, path);
}

/** `parseContent` for a request body: also adds to `limitFaults` what the JSON Schema of a content forbids. */
export function readContent(json: unknown, path: string, limitFaults?: string[]): Content {
  checkDepth(json, path);
  return readField(CONTENT, json, path, limitFaults) as Content;
}

/** `parseEvent` for what is JSON already; `path` is what the path at fault starts with. */
export function readEvent(json: unknown, path: string, limitFaults?: string[]): Event {
  checkDepth(json, path);
  const read = readField(EVENT, json, path, limitFaults) as Event & { tag?: string };
  if (read.tag === undefined) return read;
  const { tag, ...event } = read;
  const tags = mergeTags(event.tags, tag);
  return tags.length > 0 ? { ...event, tags } : event;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidEventError(`event: not JSON: ${toError(cause).message}`, { cause, path: 'event' });
  }
}
