import { systemPlatform, type Platform } from '../platform/platform.ts';
import type { Event } from './event.ts';
import { STRUCTURED_OUTPUT } from './event.ts';

/** A deep copy under a new id. The structured output, which is not JSON, is carried over as it is. */
export function cloneEvent(event: Event, platform: Platform = systemPlatform): Event {
  const clone: Event = { ...structuredClone(event), id: platform.newEventId() };
  return STRUCTURED_OUTPUT in event ? { ...clone, [STRUCTURED_OUTPUT]: event[STRUCTURED_OUTPUT] } : clone;
}
