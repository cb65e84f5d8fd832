import { type Content, createEventActions, type Event, type EventActions, type Invocation } from '@eventloom/core';

/** What the user said, as an event of its invocation. Answers to calls go to the branch of the calls. */
export function createUserEvent(
  { invocationId, platform }: Invocation,
  content: Content,
  actions: Partial<EventActions>,
  branch: string | undefined,
): Event {
  return {
    id: platform.newEventId(),
    invocationId,
    author: 'user',
    timestamp: platform.now() / 1000,
    content,
    executionId: invocationId,
    ...(branch === undefined ? {} : { branch }),
    actions: createEventActions(actions),
  };
}
