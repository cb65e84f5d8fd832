import type { Event } from '@eventloom/core';
import { Calls, stateOf } from '@eventloom/core/internal';

const NO_ACTIONS = { stateDelta: {}, artifactDelta: {} };

/** The response to a call that had none when its session was exported. */
const INTERRUPTED = {
  error: 'interrupted',
  message: 'The session was exported before the call had its result. It may or may not have had its effect.',
};

/**
 * Returns the events of a session with responses to the calls that have none, and with the ends of the runs that could
 * continue. The events are history then. A request to a person is answered before the call that it is about.
 */
export function closeCalls(given: readonly Event[]): readonly Event[] {
  // Events of other servers may lack actions.
  const events = given.map((event) => ({ ...event, actions: { ...NO_ACTIONS, ...event.actions } }));
  const calls = new Calls(events);
  // The server gives the events ids.
  const common = { id: '', timestamp: events.at(-1)?.timestamp ?? 0, actions: NO_ACTIONS };
  // Requests come after the calls that they are about, and are answered first, as in a run.
  const responses = calls.all.toReversed().flatMap((call): Event[] => {
    // A response to a call that was repeated would belong to the newest one.
    if (stateOf(call) === 'done' || calls.isReplaced(call)) return [];
    const { id, event } = call;
    const { author, invocationId, executionId, branch } = event;
    const name = call.call.name ?? '';
    return [
      {
        ...common,
        author,
        invocationId,
        ...(executionId !== undefined && { executionId }),
        ...(branch !== undefined && { branch }),
        content: { role: 'user', parts: [{ functionResponse: { id, name, response: INTERRUPTED } }] },
      },
    ];
  });
  const ends = [...new Set(events.map(({ invocationId }) => invocationId))]
    .filter((invocationId) => calls.canContinue(invocationId))
    .map((invocationId): Event => {
      const actions = { ...NO_ACTIONS, endOfAgent: true };
      return { ...common, author: 'user', invocationId, object: 'runner.end', actions };
    });
  return [...events, ...responses, ...ends];
}
