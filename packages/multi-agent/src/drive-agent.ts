import type { Event, InvocationContext } from '@eventloom/core';
import { Route } from './route.ts';

/** The events of the context's agent and of whomever it hands over to, one after the other. */
export async function* driveAgent(context: InvocationContext): AsyncGenerator<Event, void, void> {
  const route = new Route(context);
  try {
    for (const part of route) yield* part;
  } catch (error) {
    route.noteFailure(error);
    throw error;
  }
}
