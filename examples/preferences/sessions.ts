import type { BaseSessionService, Runner, Session, SessionKey } from 'eventloom';

/** Reads the newest events of a session without reading the others. */
export async function recentEvents(service: BaseSessionService, key: SessionKey): Promise<Session | undefined> {
  return service.getSession({ ...key, config: { numRecentEvents: 10 } });
}

/** Undoes the user's last message and everything that followed it. */
export async function undo(runner: Runner, { appName, userId, sessionId }: SessionKey): Promise<void> {
  const { events } = await runner.sessionService.listEvents({ appName, userId, sessionId, order: 'desc', limit: 1 });
  const rewindBeforeInvocationId = events[0]?.invocationId;
  if (rewindBeforeInvocationId) await runner.rewindAsync({ userId, sessionId, rewindBeforeInvocationId });
}

/** Copies a session unchanged to another back end. */
export function copy(from: BaseSessionService, key: SessionKey, to: BaseSessionService): Promise<Session> {
  return to.importSession({ records: from.exportSession(key) });
}
