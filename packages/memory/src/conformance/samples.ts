import { createEvent, type Event, type EventParams, type SearchMemoryRequest, type Session } from '@eventloom/core';
import type { Subject } from './memory-rule.ts';

/** The user that most test cases work on. */
export const OWNER = { appName: 'app', userId: 'user' };
/** The session that most cases add. */
export const KEY = { ...OWNER, sessionId: 'session' };
/** The timestamp of most events, in seconds. */
export const TIME = 1_767_323_045;

/** Creates an event of the agent with this text. */
export function said(id: string, text: string, params: EventParams = {}): Event {
  const content = { role: 'model', parts: [{ text }] };
  return createEvent({ invocationId: `e-${id}`, author: 'agent', timestamp: TIME, content, ...params, id });
}

/** Creates the event that rewinds the session to before an invocation. */
export function rewind(id: string, invocationId: string, timestamp = TIME): Event {
  const actions = { rewindBeforeInvocationId: invocationId };
  return createEvent({ id, invocationId: `e-${id}`, author: 'user', timestamp, actions });
}

/** Creates a session with these events. */
export function sessionWith(events: Event[], id = KEY.sessionId): Session {
  return { ...OWNER, id, state: {}, events, lastUpdateTime: TIME, lastSeq: events.length, incarnation: '1' };
}

/** Returns the texts that a query finds, best first. */
export async function find(
  { service }: Pick<Subject, 'service'>,
  query: string,
  request: Partial<SearchMemoryRequest> = {},
): Promise<string[]> {
  const { memories } = await service.searchMemory({ ...OWNER, query, ...request });
  return memories.map(({ content }) => (content.parts ?? []).map(({ text }) => text).join('|'));
}
