import { applyStateDelta, type Event, type InvocationContext } from '@eventloom/core';

/**
 * A place with a session's state of its own, which begins as the one given: what is written from there on and further in shows in it at once
 * and nowhere else. What is stored of agents further in shows in it too, and in the states around it; what others change does not.
 */
export function withState(context: InvocationContext, state: Readonly<Record<string, unknown>>): InvocationContext {
  const { invocation } = context;
  // It inherits nothing, as that of a session.
  const own: Record<string, unknown> = Object.assign(Object.create(null), state);
  const onStored = (event: Event): void => {
    applyStateDelta(own, event.actions.stateDelta, event.actions.removedState);
    invocation.onStored?.(event);
  };
  return context.withInvocation({ ...invocation, session: { ...invocation.session, state: own }, onStored });
}
