import { EventTag } from './event-tag.ts';
import { hasTag } from './event-tags.ts';
import type { Event } from './event.ts';

/**
 * True for the event of a message that began a run which can be resumed, until an event of it has the object `runner.end`. False for one
 * that was imported.
 */
export function beginsResumableRun(event: Event): boolean {
  const { author, actions } = event;
  return author === 'user' && actions.agentState?.['resumable'] === true && !hasTag(event, EventTag.imported);
}
