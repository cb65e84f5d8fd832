import { contentText } from '../content/content-text.ts';
import type { Event } from './event.ts';

/** The text of an event without its thoughts, parts joined as they are. Empty when it has none. */
export function stringifyContent(event: Event): string {
  return contentText(event.content);
}
