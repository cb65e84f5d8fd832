import type { Event } from './event.ts';

/** True for the event of a message that began a run which can be resumed, until an event of it has the object `runner.end`. */
export function beginsResumableRun({ author, actions }: Event): boolean {
  return author === 'user' && actions.agentState?.['resumable'] === true;
}
