import { type Content, type Event, getFunctionResponses, type InvocationContext, isVisibleOn } from '@eventloom/core';
import { Calls } from '@eventloom/core/internal';
import { ContentsBuilder, type ContentsOptions } from './contents-builder.ts';
import { toModelContent, transcriptionOf } from './event-content.ts';

/** The contents of the context's session as its agent's model sees them; see ContentsBuilder, which is kept with the events. */
export function sessionContents(context: InvocationContext, options: ContentsOptions = {}): Content[] {
  const { branch, session } = context;
  const { agent } = context;
  const { derived, resumedFrom, invocationId } = context.invocation;
  // A live run has its history told seldom, and then with calls that still run.
  if (context.liveRequestQueue) {
    return new ContentsBuilder(agent.name, branch, { ...options, underWay: invocationId }).build(session.events);
  }
  const key = branch === undefined ? agent : `contents:${agent.name}@${branch}`;
  let builder = derived.get(key);
  if (!(builder instanceof ContentsBuilder)) {
    builder = new ContentsBuilder(agent.name, branch, options);
    derived.set(key, builder);
  }
  return (builder as ContentsBuilder).build(session.events, resumedFrom && invocationId);
}

type View = Pick<InvocationContext, 'agent' | 'branch' | 'session' | 'invocation'>;

/**
 * Returns the contents of the current turn alone: from the newest user or foreign event on. A message of function responses continues
 * the turn that made the calls, also when other turns began since.
 */
export function currentTurnContents(
  { agent, branch, session, invocation }: View,
  options: ContentsOptions = {},
): Content[] {
  const { events } = session;
  const start = turnStart(events, Calls.of(session, invocation.derived), agent.name, branch);
  return new ContentsBuilder(agent.name, branch, options).build(start > 0 ? events.slice(start) : events);
}

/** The index of the event that starts the current turn: the newest one before the calls of all responses since then. */
function turnStart(events: readonly Event[], calls: Calls, agentName: string, branch: string | undefined): number {
  let firstCall = events.length;
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at];
    if (!event || event.partial === true || !isVisibleOn(event.branch, branch)) continue;
    for (const call of calls.answeredIn(event))
      if (call.event.author === agentName) firstCall = Math.min(firstCall, call.position);
    if (at < firstCall && event.author !== agentName && startsTurn(event, agentName)) return at;
  }
  return 0;
}

function startsTurn(event: Event, agentName: string): boolean {
  if (!toModelContent(event, agentName) && !transcriptionOf(event)) return false;
  return getFunctionResponses(event).length === 0;
}
