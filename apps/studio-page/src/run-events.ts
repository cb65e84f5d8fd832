import type { Event } from '@eventloom/core';

/** False for a rewind, for a summary and for a change of the state from outside, which belong to no run. */
export function isOfRun({ author, content, actions, inputTranscription }: Event): boolean {
  if (actions.rewindBeforeInvocationId !== undefined || actions.compaction !== undefined) return false;
  return author !== 'user' || content !== undefined || inputTranscription !== undefined;
}

/**
 * Returns the agent at work after the first events of a session: the author of the next event in the same run.
 * Undefined between runs, while a run waits for the user, and if no agent has an event in the rest of the run.
 *
 * @param count the number of events before that moment
 */
export function agentAtWork(events: readonly Event[], count: number): string | undefined {
  const invocationId = events[count - 1]?.invocationId;
  // The author of the runner's records is the app.
  const next = events.find(({ object = '' }, index) => index >= count && !object.startsWith('runner.'));
  return next?.invocationId === invocationId && next?.author !== 'user' ? next?.author : undefined;
}
