import { type BaseSessionService, createEvent, type Event, type Session, systemPlatform } from '@eventloom/core';

/** Commits the same events under a lease, without other work. */
export async function commitAll(
  service: BaseSessionService,
  session: Session,
  events: readonly Event[],
): Promise<void> {
  const lease = await service.acquireLease({ appName: session.appName, userId: session.userId, sessionId: session.id });
  for (const event of events) {
    await service.appendEvent({ session, lease, event: createEvent({ ...event, id: systemPlatform.newEventId() }) });
  }
  await service.releaseLease(lease);
}
