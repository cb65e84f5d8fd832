import { InMemoryArtifactService } from '@eventloom/artifacts';
import { type BaseArtifactService, type BaseSessionService, ConfigurationError } from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { openDatabaseSessions, openFileArtifacts } from '#services';

/** Sessions in a database, as `DatabaseSessionService` opens them. */
export type DatabaseSessionService = BaseSessionService;

/**
 * Opens the sessions of a URL, on Node: `sqlite://` with a path, `sqlite://:memory:`, or `postgres://`, for which the package `pg` must be installed.
 * It gives a `SqliteSessionService` or a `PostgresSessionService`.
 *
 * @example
 * const sessionService = new DatabaseSessionService('sqlite://sessions.db');
 */
export const DatabaseSessionService: new (url: string) => BaseSessionService = opener(openDatabaseSessions);

/** Artifacts in a folder, as the `FileArtifactService` for programs that were written for @google/adk opens them. */
export type AdkFileArtifactService = BaseArtifactService;

/**
 * Opens the artifacts of a folder, on Node, for programs that were written for @google/adk. It takes a path, or a URL with the scheme `file`, and
 * gives the service of `@eventloom/artifacts/fs`, whose own `FileArtifactService` takes `{ rootDir }`.
 *
 * @example
 * const artifactService = new FileArtifactService('artifacts');
 */
export const AdkFileArtifactService: new (rootDirOrUri: string) => BaseArtifactService = opener(openFileArtifacts);

/** Makes a class whose construction gives what `open` returns. */
function opener<T extends object>(open: (url: string) => T): new (url: string) => T {
  const Opener: new (url: string) => object = class {};
  return new Proxy(Opener, { construct: (_target, [url]) => open(url) }) as new (url: string) => T;
}

/**
 * Opens the session service of a URL: `memory://`, or what `DatabaseSessionService` opens.
 * @throws ConfigurationError for another URL
 */
export function getSessionServiceFromUri(uri: string): BaseSessionService {
  return uri.startsWith('memory://') ? new InMemorySessionService() : openDatabaseSessions(uri);
}

/** Opens the artifact service of a URL: `memory://`, or `file://` with a folder. @throws ConfigurationError for another URL */
export function getArtifactServiceFromUri(uri: string): BaseArtifactService {
  if (uri.startsWith('memory://')) return new InMemoryArtifactService();
  if (uri.startsWith('file://')) return openFileArtifacts(uri);
  const scheme = uri.slice(0, Math.max(0, uri.indexOf('://')));
  throw new ConfigurationError(
    `getArtifactServiceFromUri: the scheme ${JSON.stringify(scheme)} is not supported; write memory:// or file://…, or create the service yourself`,
  );
}
