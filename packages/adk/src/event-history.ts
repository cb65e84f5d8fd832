import {
  type BaseAgent,
  createEvent,
  type Event,
  type EventParams,
  getFunctionCalls,
  getFunctionResponses,
  isFinalResponse,
  type Session,
} from '@eventloom/core';
import { Calls, isBaseAgent, isRecord, toSeconds } from '@eventloom/core/internal';
import { isRoutableLlmAgent } from './agent-guards.ts';
import type { ResumabilityConfig } from './app.ts';
import { recordOf, requireArgument, requireEvent, requireEvents, requireOptions } from './check-arguments.ts';
import { type AdkRunEvent, createAdkEventActions } from './event-fields.ts';

/**
 * Creates an event as `createEvent` of `@eventloom/core` does, and takes a `timestamp` in milliseconds too, as programs
 * that were written for `@google/adk` give it. The event has it in seconds. Lists and requests of the event that
 * `params` leaves out are empty, not absent.
 *
 * @example
 * const event = createEvent({ author: 'system', timestamp: Date.now(), actions: { stateDelta: { step: 2 } } });
 */
export function createAdkEvent(params: EventParams = {}): AdkRunEvent {
  requireOptions('createEvent', params, "createEvent({ author: 'helper' })");
  const { timestamp, longRunningToolIds = [] } = params;
  const given = timestamp === undefined ? params : { ...params, timestamp: toSeconds(timestamp) };
  const event = createEvent({ ...given, longRunningToolIds });
  return { ...event, longRunningToolIds, actions: createAdkEventActions(event.actions) };
}

/**
 * Returns true for the events for which `isFinalResponse` of `@eventloom/core` does, and, as in `@google/adk`, for every event
 * with `actions.skipSummarization` or with requests for credentials.
 */
export function isAdkFinalResponse(event: Event): boolean {
  if (isFinalResponse(event)) return true;
  const { skipSummarization, requestedAuthConfigs } = recordOf(event.actions);
  return skipSummarization === true || Object.keys(recordOf(requestedAuthConfigs)).length > 0;
}

/** Returns the newest event before `endIndex` that makes the function call with this id; undefined if there is none. */
export function findEventByFunctionCallId(
  events: readonly Event[],
  functionCallId: string,
  endIndex = Infinity,
): Event | undefined {
  requireEvents('findEventByFunctionCallId', events);
  return events.findLast(
    (event, at) => at < endIndex && getFunctionCalls(event).some(({ id }) => id === functionCallId),
  );
}

/**
 * Returns the newest event with a call that has the id of the last event's response; undefined if the last event is not
 * a response. Goes by the id alone, as the ADK does: agents on two branches may give their calls the same id.
 */
export function findMatchingFunctionCall(events: readonly Event[]): Event | undefined {
  requireEvents('findMatchingFunctionCall', events);
  const last = events.at(-1);
  const id = last && getFunctionResponses(last)[0]?.id;
  return id ? findEventByFunctionCallId(events, id, events.length - 1) : undefined;
}

/** Returns what `findMatchingFunctionCall` does, or null. */
export function findEventByLastFunctionResponseId(events: readonly Event[]): Event | null {
  requireEvents('findEventByLastFunctionResponseId', events);
  return findMatchingFunctionCall(events) ?? null;
}

/**
 * Returns the agent that the next message of a session goes to, by the rules of the ADK: the agent that made the call
 * to which the last event responds, if runs are resumable; otherwise the last agent that spoke and may be talked to;
 * otherwise the root agent. `Runner` decides by the same rules.
 */
export function determineAgentForResumption(
  session: Pick<Session, 'events'>,
  rootAgent: BaseAgent,
  resumabilityConfig?: ResumabilityConfig,
): BaseAgent {
  requireArgument(
    isRecord(session) && Array.isArray(session.events) && isBaseAgent(rootAgent),
    'determineAgentForResumption',
    'a session and an agent',
    session,
    'determineAgentForResumption(session, rootAgent)',
  );
  const { events } = session;
  const last = resumabilityConfig?.isResumable === true ? events.at(-1) : undefined;
  const [answered] = last ? new Calls(events).respondedIn(last) : [];
  const asked = answered && rootAgent.findAgent(answered.event.author);
  if (asked) return asked;
  for (const { author } of events.toReversed()) {
    if (author === rootAgent.name) return rootAgent;
    const agent = rootAgent.findSubAgent(author);
    if (agent && isRoutableLlmAgent(agent)) return agent;
  }
  return rootAgent;
}

/** Returns true for an event with a thought of the model. */
export function hasThoughts(event: Event): boolean {
  requireEvent('hasThoughts', event);
  return event.content?.parts?.some((part) => part.thought === true) ?? false;
}

/** Returns a copy of an event without the model's thoughts. */
export function pruneThoughts(event: Event): Event {
  requireEvent('pruneThoughts', event);
  if (!event.content?.parts) return event;
  return {
    ...event,
    content: { ...event.content, parts: event.content.parts.filter((part) => part.thought !== true) },
  };
}

/** Creates an id for a function call: `adk-` and a UUID. */
export function generateClientFunctionCallId(): string {
  return `adk-${crypto.randomUUID()}`;
}

/** Gives the function calls of an event without an id one of `generateClientFunctionCallId`. Agents do it themselves. */
export function populateClientFunctionCallId(modelResponseEvent: Event): void {
  for (const call of getFunctionCalls(modelResponseEvent)) if (!call.id) call.id = generateClientFunctionCallId();
}
