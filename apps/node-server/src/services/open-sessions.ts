import type { BaseSessionService } from '@eventloom/core';
import type { RunRelay } from '@eventloom/server';
import { InMemorySessionService } from '@eventloom/sessions';
import type { SessionsPlace } from '../settings.ts';
import { openPostgres } from './open-postgres.ts';

/** A service that is open, and how to close it. */
export interface OpenSessions {
  readonly service: BaseSessionService;
  /** The way to the other processes that use the same sessions, where there can be any. */
  readonly relay?: RunRelay;
  close(): void | Promise<void>;
}

/**
 * @param warn told of what goes wrong while nobody asks for anything
 * @throws ConfigurationError when the file or the database cannot be used
 */
export async function openSessions(place: SessionsPlace, warn: (line: string) => void): Promise<OpenSessions> {
  if (place.kind === 'memory') return { service: new InMemorySessionService(), close: () => undefined };
  if (place.kind === 'postgres') return openPostgres(place.url, warn);
  const { SqliteSessionService } = await import('@eventloom/sessions/sqlite');
  const service = new SqliteSessionService({ path: place.file });
  return { service, close: () => service.close() };
}
