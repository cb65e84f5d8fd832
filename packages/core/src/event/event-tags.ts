import { isRecord } from '../content/json.ts';
import { type Event, notAnEvent } from './event.ts';

/** True if the event has the tag. */
export function hasTag(event: Event, tag: string): boolean {
  if (!isRecord(event)) throw notAnEvent('hasTag', event);
  return event.tags?.includes(tag.trim()) ?? false;
}

/** Returns the event with a further tag; `a;b` adds two. Trims tags, and leaves out empty and duplicate ones. */
export function withTag(event: Event, tag: string): Event {
  const tags = mergeTags(event.tags, tag);
  return tags.every((each) => event.tags?.includes(each)) ? event : { ...event, tags };
}

/** Reads tags from a list, or from a string that separates them with `;`. */
export function mergeTags(existing: readonly string[] | undefined, added: string | readonly string[]): string[] {
  const tags = new Set(existing);
  for (const tag of typeof added === 'string' ? added.split(';') : added) {
    if (tag.trim() !== '') tags.add(tag.trim());
  }
  return [...tags];
}

/** Values of `event.tags` that Eventloom writes. Applications add their own. */
export const EventTag = {
  /** Tag of events with code that a model wrote to be run. */
  codeExecutionCode: 'code_execution_code',
  /** Tag of events with the result of executed code. */
  codeExecutionResult: 'code_execution_result',
  /** Tag of events that a client provided when it created the session. They are not trusted: no run continues their calls. */
  imported: 'imported',
  /** Tag of responses to calls whose run was cancelled while they waited for an answer. No message can answer these calls. */
  cancelled: 'cancelled_calls',
  /** Tag of requests (`agent.input`) to agents whose work the stream of the run does not show: see `AgentToolConfig.streamInner`. */
  notStreamed: 'not_streamed',
} as const;
