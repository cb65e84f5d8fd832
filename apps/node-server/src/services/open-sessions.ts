import type { BaseSessionService } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import type { SessionsPlace } from '../settings.ts';

/** A service that is open, and how to close it. */
export interface OpenSessions {
  readonly service: BaseSessionService;
  close(): void;
}

/** @throws ConfigurationError when the file cannot be used */
export async function openSessions(place: SessionsPlace): Promise<OpenSessions> {
  if (place.kind === 'memory') return { service: new InMemorySessionService(), close: () => undefined };
  const { SqliteSessionService } = await import('@eventloom/sessions/sqlite');
  const service = new SqliteSessionService({ path: place.file });
  return { service, close: () => service.close() };
}
