import { type BaseSessionService, type EventsCompactor, reportTo, RunAbortedError } from '@eventloom/core';
import { FROM_THE_BEGIN } from './event-places.ts';
import { eventsThatCount, pointBehindCompaction } from './history-pointer.ts';
import type { RunScope } from './run.ts';

/**
 * Compacts the session of a run that is over, when it is time. What goes wrong is the platform's to report, and changes nothing:
 * the run is what it is, and the next one tries again.
 */
export async function compactSession(
  compactor: EventsCompactor,
  { context, committer, loaded }: RunScope,
  sessionService: BaseSessionService,
): Promise<void> {
  const { session, runConfig, platform } = context;
  // A window that somebody chose may lack what a summary has to tell of.
  if (runConfig.getSessionConfig && session.events.length < session.lastSeq) return;
  try {
    const event = await context.untilLetGo(compactor.compact({ context, sessionService }));
    if (!event) return;
    const { events } = session;
    const places = loaded.places ?? FROM_THE_BEGIN;
    const history = pointBehindCompaction(events, event, places, session.lastSeq + 1);
    await committer.append(history ? { ...event, actions: { ...event.actions, history } } : event);
    // The events that the summary stands for need no memory.
    loaded.kept = { ...eventsThatCount(events, places), lastSeq: session.lastSeq, derived: new Map() };
  } catch (error) {
    if (!RunAbortedError.isInstance(error)) reportTo(platform, error);
  }
}
