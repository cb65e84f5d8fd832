import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import { hasAgentCallbacks, runWithCallbacks } from './agent-callbacks.ts';
import type { BaseAgent } from './base-agent.ts';
import { OpenCalls } from './open-calls.ts';

type Work = () => AsyncGenerator<Event, void, void>;

/**
 * As an agent is run whose run can be resumed: an agent that is done already does nothing, and the log is told when it begins, as
 * far as its own events do not say so, and when it is done. An agent that does not look after that itself waits while a call that it
 * made has its result later.
 */
export async function* runResumable(
  agent: BaseAgent,
  context: InvocationContext,
  work: Work,
  storesProgress: boolean,
): AsyncGenerator<Event, void, void> {
  if (context.past?.isOver) return;
  const begin = storesProgress ? work : () => watched(context, work);
  if (hasAgentCallbacks(agent, context)) {
    yield* runWithCallbacks(agent, context, begin);
    return;
  }
  yield* begin();
  if (!context.isEnded && !context.isPaused) yield context.createEvent({ actions: { endOfAgent: true } });
}

async function* watched(context: InvocationContext, work: Work): AsyncGenerator<Event, void, void> {
  const open = new OpenCalls(context);
  if (open.isEmpty) {
    if (!context.agentState) yield context.createEvent({ actions: { agentState: { begun: true } } });
    for await (const event of work()) {
      open.add(event);
      yield event;
    }
  }
  if (!open.isEmpty) context.pause();
}
