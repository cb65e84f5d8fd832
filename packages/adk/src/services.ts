import { InMemoryArtifactService } from '@eventloom/artifacts';
import {
  type BaseArtifactService,
  type BaseCodeExecutor,
  type BaseSessionService,
  ConfigurationError,
} from '@eventloom/core';
import { InMemorySessionService } from '@eventloom/sessions';
import { openDatabaseSessions, openFileArtifacts, openLocalExecutor } from '#services';

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

/** Artifacts in a folder, as the `FileArtifactService` for programs that were written for `@google/adk` opens them. */
export type AdkFileArtifactService = BaseArtifactService;

/**
 * Opens the artifacts of a folder, on Node, for programs that were written for `@google/adk`. It takes a path, or a URL with the scheme `file`, and
 * gives the service of `@eventloom/artifacts/fs`, whose own `FileArtifactService` takes `{ rootDir }`.
 *
 * @example
 * const artifactService = new FileArtifactService('artifacts');
 */
export const AdkFileArtifactService: new (rootDirOrUri: string) => BaseArtifactService = opener(openFileArtifacts);

/** Options of the `UnsafeLocalCodeExecutor` of programs that were written for `@google/adk`. */
export interface AdkLocalExecutorOptions {
  /** Time for one execution, in seconds. Default 30. */
  readonly timeoutSeconds?: number | undefined;
  /** Program that runs JavaScript. Default: the Node of this process. */
  readonly commandPath?: string | undefined;
  /** Program that runs Python. Default `python3`. */
  readonly pythonCommandPath?: string | undefined;
  /** Program that runs shell scripts. Default `bash`. */
  readonly shellCommandPath?: string | undefined;
}

/** Code in processes of this machine, as the `UnsafeLocalCodeExecutor` for programs that were written for `@google/adk` runs it. */
export type AdkUnsafeLocalCodeExecutor = BaseCodeExecutor;

/**
 * Creates the executor of `@eventloom/llm-agent/node`, on Node, for programs that were written for `@google/adk`. It runs a model's Python, JavaScript and shell
 * scripts in processes of this machine, **without any protection**.
 *
 * @example
 * const agent = new LlmAgent({ name: 'analyst', model: 'gemini-flash-latest', codeExecutor: new UnsafeLocalCodeExecutor({ timeoutSeconds: 10 }) });
 */
export const AdkUnsafeLocalCodeExecutor: new (options?: AdkLocalExecutorOptions) => BaseCodeExecutor =
  opener(openLocalExecutor);

/** Makes a class whose construction gives what `open` returns. */
function opener<P extends unknown[], T extends object>(open: (...params: P) => T): new (...params: P) => T {
  const Opener: new (...params: P) => object = class {};
  return new Proxy(Opener, { construct: (_target, params: P) => open(...params) }) as new (...params: P) => T;
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
