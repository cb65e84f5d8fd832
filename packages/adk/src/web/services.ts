import { GcsArtifactService } from '@eventloom/artifacts/gcs';
import { type BaseArtifactService, type BaseSessionService, ConfigurationError } from '@eventloom/core';

/** Throws: outside Node there are no database drivers. @throws ConfigurationError */
export function openDatabaseSessions(_url: string, _caller: string): BaseSessionService {
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

/** Opens the artifacts of a bucket. @throws ConfigurationError without `accessToken`: outside Node there are no credentials in the environment */
export function openGcsArtifacts(
  bucket: string,
  {
    apiEndpoint,
    accessToken,
  }: {
    readonly apiEndpoint?: string | undefined;
    readonly accessToken?: (() => string | Promise<string>) | undefined;
  } = {},
): BaseArtifactService {
  if (accessToken) return new GcsArtifactService({ bucket, accessToken, endpoint: apiEndpoint });
  throw new ConfigurationError(
    'GcsArtifactService: accessToken is missing; outside Node write new GcsArtifactService(bucket, { accessToken: () => token })',
  );
}

/** Throws: outside Node there are no processes. @throws ConfigurationError */
export function openLocalExecutor(_options?: object): never {
  throw new ConfigurationError(
    'UnsafeLocalCodeExecutor: needs Node; on Workers write new QuickJsCodeExecutor() of @eventloom/quickjs',
  );
}
