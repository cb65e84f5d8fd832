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
