import { type BaseArtifactService, type BaseSessionService, ConfigurationError } from '@eventloom/core';

/** Throws: outside Node there are no database drivers. @throws ConfigurationError */
export function openDatabaseSessions(_url: string): BaseSessionService {
  throw new ConfigurationError(
    'DatabaseSessionService: needs Node; on Workers write new DurableObjectSessionService({ storage }) of @eventloom/sessions/durable-object',
  );
}

/** Throws: outside Node there are no folders. @throws ConfigurationError */
export function openFileArtifacts(_rootDirOrUri: string): BaseArtifactService {
  throw new ConfigurationError(
    'FileArtifactService: needs Node; on Workers write new R2ArtifactService({ bucket }) of @eventloom/artifacts/r2',
  );
}
