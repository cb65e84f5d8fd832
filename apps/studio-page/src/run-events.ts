import type { Event } from '@eventloom/core';

/** False for a rewind, for a summary and for a change of the state from outside, which belong to no run. */
export function isOfRun({ author, content, actions, inputTranscription }: Event): boolean {
  if (actions.rewindBeforeInvocationId !== undefined || actions.compaction !== undefined) return false;
  return author !== 'user' || content !== undefined || inputTranscription !== undefined;
}
