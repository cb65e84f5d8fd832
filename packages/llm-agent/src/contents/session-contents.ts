import { type BaseLlm, type Content, type Event, getFunctionResponses, type InvocationContext } from '@eventloom/core';
import { Calls, isVisibleOn } from '@eventloom/core/internal';
import type { CodeStyle } from '../code-execution/code-contents.ts';
import { ContentsBuilder, type ContentsOptions } from './contents-builder.ts';
import { toModelContent, transcriptionOf } from './event-content.ts';

/** The parts of an invocation context that the contents depend on. */
type View = Pick<InvocationContext, 'agent' | 'branch' | 'session' | 'invocation'>;

/** Returns the contents of a session as the agent's model sees them. The ContentsBuilder is cached with the session's events. */
export function sessionContents(view: View, model?: BaseLlm, codeStyle?: CodeStyle): Content[] {
  const { agent, branch, session, invocation } = view;
  const { derived, resumedFrom, invocationId } = invocation;
  // A live run builds its history rarely, and calls may still run then, so its builder is not cached.
  if (invocation.live) {
    const options = { ...optionsOf(model, codeStyle), derived, underWay: invocationId };
    return new ContentsBuilder(agent.name, branch, options).build(session.events);
  }
  const key = branch === undefined ? agent : `contents:${agent.name}@${branch}`;
  let builder = derived.get(key);
  if (!(builder instanceof ContentsBuilder)) {
    builder = new ContentsBuilder(agent.name, branch, { ...optionsOf(model, codeStyle), derived });
    derived.set(key, builder);
  }
  return (builder as ContentsBuilder).build(session.events, resumedFrom && invocationId);
}

/**
 * Returns the contents of the current turn only: from the newest event of the user or another agent on. A message of function responses continues
 * the turn that made the calls, even if other turns began since.
 */
export function currentTurnContents(view: View, model?: BaseLlm, codeStyle?: CodeStyle): Content[] {
  const { agent, branch, session, invocation } = view;
  const { events } = session;
  const { derived } = invocation;
  const start = turnStart(events, Calls.of(session, derived), agent.name, branch);
  const options = { ...optionsOf(model, codeStyle), derived, sessionEvents: events };
  return new ContentsBuilder(agent.name, branch, options).build(start > 0 ? events.slice(start) : events);
}

function optionsOf(model: BaseLlm | undefined, codeStyle: CodeStyle | undefined): ContentsOptions {
  return { codeStyle, takes: model && ((part) => model.supportsFunctionResponsePart(model.model, part)) };
}

/** Returns the index of the event that starts the current turn: the newest such event before the calls of all responses that follow it. */
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
