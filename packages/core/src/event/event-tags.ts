import type { Event } from './event.ts';

/** True when the event carries the tag. */
export function hasTag(event: Event, tag: string): boolean {
  return event.tags?.includes(tag.trim()) ?? false;
}

/** The event with the tag beside those it has: trimmed, no duplicate, never empty. `a;b` is two tags. */
export function withTag(event: Event, tag: string): Event {
  const tags = mergeTags(event.tags, tag);
  return tags.every((each) => event.tags?.includes(each)) ? event : { ...event, tags };
}

/** Tags from a list, or from text that separates them with `;`. */
export function mergeTags(existing: readonly string[] | undefined, added: string | readonly string[]): string[] {
  const tags = new Set(existing);
  for (const tag of typeof added === 'string' ? added.split(';') : added) {
    if (tag.trim() !== '') tags.add(tag.trim());
  }
  return [...tags];
}

/** The values of `event.tags` that this project writes. The set is open: users add their own. */
export const EventTag = {
  /** The event holds code that a model wrote to be run. */
  codeExecutionCode: 'code_execution_code',
  /** The event holds what came of running code. */
  codeExecutionResult: 'code_execution_result',
  /** The event came with a session that was made of given events, and nobody vouches for them: no run goes on with what it says. */
  imported: 'imported',
} as const;
