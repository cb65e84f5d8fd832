import { type Content, type Event, getFunctionResponses, type InvocationContext, isVisibleOn } from '@eventloom/core';
import type { CodeStyle } from '../code-execution/code-part-text.ts';
import { ContentsBuilder } from './contents-builder.ts';
import { toModelContent, transcriptionOf } from './event-content.ts';

/** The contents of the context's session as its agent's model sees them; see ContentsBuilder, which is kept with the events. */
export function sessionContents(context: InvocationContext, codeStyle?: CodeStyle): Content[] {
  const { branch, session } = context;
  const { agent } = context;
  const { derived, past, invocationId } = context.invocation;
  // A live run has its history told seldom, and then with calls that still run.
  if (context.liveRequestQueue) {
    return new ContentsBuilder(agent.name, branch, codeStyle, invocationId).build(session.events);
  }
  const key = branch === undefined ? agent : `contents:${agent.name}@${branch}`;
  let builder = derived.get(key);
  if (!(builder instanceof ContentsBuilder)) {
    builder = new ContentsBuilder(agent.name, branch, codeStyle);
    derived.set(key, builder);
  }
  return (builder as ContentsBuilder).build(session.events, past && invocationId);
}

/** Whose view it is, and of what. */
type View = Pick<InvocationContext, 'agent' | 'branch' | 'session'>;

/**
 * The contents of the current turn alone: from the newest user or foreign event on. A message of function responses goes on with
 * the turn that asked for them, so it starts none.
 */
export function currentTurnContents({ agent, branch, session }: View, codeStyle?: CodeStyle): Content[] {
  const { events } = session;
  let start = events.length - 1;
  while (start > 0 && !startsTurn(events[start] as Event, agent.name, branch)) start--;
  return new ContentsBuilder(agent.name, branch, codeStyle).build(start > 0 ? events.slice(start) : events);
}

function startsTurn(event: Event, agentName: string, branch: string | undefined): boolean {
  if (event.author === agentName || !isVisibleOn(event.branch, branch)) return false;
  if (!toModelContent(event, agentName) && !transcriptionOf(event)) return false;
  return getFunctionResponses(event).length === 0;
}
