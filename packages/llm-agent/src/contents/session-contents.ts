import { type Content, type Event, getFunctionResponses } from '@eventloom/core';
import { ContentsBuilder } from './contents-builder.ts';

/** The builders of a session's event list, by agent and branch. They live as long as the list does. */
const builders = new WeakMap<readonly Event[], Map<string, ContentsBuilder>>();

/** The contents of a session as an agent's model sees them; see ContentsBuilder. */
export function sessionContents(events: readonly Event[], agentName: string, branch: string | undefined): Content[] {
  let byView = builders.get(events);
  if (!byView) builders.set(events, (byView = new Map()));
  const view = branch === undefined ? agentName : `${agentName}@${branch}`;
  let builder = byView.get(view);
  if (!builder) byView.set(view, (builder = new ContentsBuilder(agentName, branch)));
  return builder.build(events);
}

/**
 * The contents of the current turn alone: from the newest user or foreign event on. A message of function responses goes on with
 * the turn that asked for them, so it starts none.
 */
export function currentTurnContents(
  events: readonly Event[],
  agentName: string,
  branch: string | undefined,
): Content[] {
  let start = events.length - 1;
  while (start > 0 && !startsTurn(events[start] as Event, agentName)) start--;
  return new ContentsBuilder(agentName, branch).build(start > 0 ? events.slice(start) : events);
}

function startsTurn(event: Event, agentName: string): boolean {
  if (event.author === agentName || !event.content?.parts?.length) return false;
  return getFunctionResponses(event).length === 0;
}
