import {
  type BaseArtifactService,
  type BaseCodeExecutor,
  type BaseSessionService,
  ConfigurationError,
} from '@eventloom/core';

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

/** Throws: outside Node there are no processes. @throws ConfigurationError */
export function openLocalExecutor(_options?: object): BaseCodeExecutor {
  throw new ConfigurationError(
    'UnsafeLocalCodeExecutor: needs Node; on Workers write new QuickJsCodeExecutor() of @eventloom/quickjs',
  );
}
