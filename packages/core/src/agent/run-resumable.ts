import { Calls } from '../calls/calls.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import { runWithCallbacks } from './agent-callbacks.ts';
import type { BaseAgent } from './base-agent.ts';

type Work = () => AsyncGenerator<Event, void, void>;

/**
 * Runs an agent in a resumable run. An agent that completed before the resume does nothing. Adds events that mark the start
 * of the agent (unless it stores its own progress) and its end. An agent that does not store its own progress pauses while one
 * of its long-running calls has no result.
 */
export async function* runResumable(
  agent: BaseAgent,
  context: InvocationContext,
  work: Work,
  { hasCallbacks, storesProgress }: { readonly hasCallbacks: boolean; readonly storesProgress: boolean },
): AsyncGenerator<Event, void, void> {
  if (context.resumedFrom?.isCompleted) return;
  const begin = storesProgress ? work : () => watched(context, work);
  if (hasCallbacks) {
    yield* runWithCallbacks(agent, context, begin);
    return;
  }
  yield* begin();
  if (!context.endInvocation && !context.isPaused) yield context.createEvent({ actions: { endOfAgent: true } });
}

async function* watched(context: InvocationContext, work: Work): AsyncGenerator<Event, void, void> {
  const { executionId } = context;
  const calls = ownCalls(context);
  if (calls.waiting.length === 0) {
    if (!context.agentState) yield context.createEvent({ actions: { agentState: { begun: true } } });
    for await (const event of work()) {
      if (event?.content && (event.executionId ?? executionId) === executionId) calls.add(event);
      yield event;
    }
  }
  if (calls.waiting.length > 0) context.pause();
}

/** Returns the calls that the agent made before the resume, with the user's answers on its branch. */
function ownCalls({ executionId, branch, resumedFrom, session }: InvocationContext): Calls {
  const isOwn = (event: Event): boolean =>
    event.author === 'user' ? event.branch === branch : event.executionId === executionId;
  return new Calls(resumedFrom ? session.events.filter(isOwn) : []);
}
