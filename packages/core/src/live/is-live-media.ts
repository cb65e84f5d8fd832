import type { Event } from '../event/event.ts';

/** True for an event of raw audio, video or images and nothing else: it is streamed in a live run and stored nowhere. */
export function isLiveMedia({ content }: Event): boolean {
  const parts = content?.parts;
  return parts !== undefined && parts.length > 0 && parts.every((part) => part.inlineData !== undefined);
}
