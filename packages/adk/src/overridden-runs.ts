import type { BaseAgent, Event, InvocationContext } from '@eventloom/core';
import { completedEvents } from '@eventloom/core/internal';

/** Contexts whose agent's `runAsync` of the program has been called. */
const ENTERED: WeakSet<InvocationContext> = new WeakSet();
/** Contexts whose agent runs without its `runAsync` of the program, which has been called before or called the agent itself. */
const PASSED: WeakSet<InvocationContext> = new WeakSet();

/**
 * Runs an agent as `runAsync` of `@eventloom/core` does. If the `runAsync` of the program calls it with the context that it got, the agent
 * works in that context.
 */
export function runFromProgram(
  agent: BaseAgent,
  parentContext: InvocationContext,
  place: Parameters<BaseAgent['runAsync']>[1],
): AsyncGenerator<Event, void, void> {
  const isEntered = place === undefined && ENTERED.has(parentContext) && parentContext.agent === agent;
  const context = isEntered ? parentContext : parentContext.forAgent(agent, place);
  PASSED.add(context);
  return isEntered ? agent.runIn(context) : context.invocation.host.runAgent(context);
}

/**
 * Runs an agent by way of its `runAsync`, if a class of the program has overridden it, or the program has assigned it. The ADK calls
 * it for each run of the agent that is not live.
 * @param own the prototype of the class of this package
 */
export function runOverridden(
  agent: BaseAgent,
  own: { readonly runAsync: unknown },
  context: InvocationContext,
  work: () => AsyncGenerator<Event, void, void>,
): AsyncGenerator<Event, void, void> {
  if (agent.runAsync === own.runAsync || PASSED.has(context) || context.invocation.live) return work();
  ENTERED.add(context);
  return completedEvents(agent.runAsync(context), context);
}
