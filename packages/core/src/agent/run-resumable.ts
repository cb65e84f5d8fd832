import type { InvocationContext } from '../context/invocation-context.ts';
import type { Event } from '../event/event.ts';
import { hasAgentCallbacks, runWithCallbacks } from './agent-callbacks.ts';
import type { BaseAgent } from './base-agent.ts';

type Work = () => AsyncGenerator<Event, void, void>;

/**
 * As an agent is run whose run can be resumed: an agent that is done already does nothing, and the log is told when it begins, as
 * far as its own events do not say so, and when it is done.
 */
export async function* runResumable(
  agent: BaseAgent,
  context: InvocationContext,
  work: Work,
  storesProgress: boolean,
): AsyncGenerator<Event, void, void> {
  if (context.past?.isOver) return;
  const begin = storesProgress || context.agentState ? work : () => afterBegin(context, work);
  if (hasAgentCallbacks(agent, context)) {
    yield* runWithCallbacks(agent, context, begin);
    return;
  }
  yield* begin();
  if (!context.isEnded && !context.isPaused) yield context.createEvent({ actions: { endOfAgent: true } });
}

async function* afterBegin(context: InvocationContext, work: Work): AsyncGenerator<Event, void, void> {
  yield context.createEvent({ actions: { agentState: { begun: true } } });
  yield* work();
}
