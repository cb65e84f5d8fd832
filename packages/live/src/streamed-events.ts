import type { Event } from '@eventloom/core';
import { isEmptyActions } from '@eventloom/core/internal';

/** True for an event of raw audio, video or images and nothing else: a live run streams it and does not store it. */
export function isLiveMedia({ content }: Event): boolean {
  const parts = content?.parts;
  return parts !== undefined && parts.length > 0 && parts.every((part) => part.inlineData !== undefined);
}

/** True for an event that a live run streams and does not store: raw media, and resumption handles of the model service. */
export function isOnlyStreamed(event: Event): boolean {
  return isLiveMedia(event) || isResumptionUpdate(event);
}

/** True for an event of a resumption handle and nothing else. Its reader decides whether to keep the handle. */
function isResumptionUpdate({ liveSessionResumptionUpdate, content, actions }: Event): boolean {
  return liveSessionResumptionUpdate !== undefined && content === undefined && isEmptyActions(actions);
}
