import { type DriverArtifactService, InMemoryArtifactService } from '@eventloom/artifacts';
import {
  type BaseArtifactService,
  type BaseCodeExecutor,
  type CodeExecutionInput,
  type CodeExecutionOutput,
  type CodeFile,
  ConfigurationError,
  type ExecuteCodeParams,
} from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules } from '@eventloom/core/internal';
import { openDatabaseSessions, openFileArtifacts, openGcsArtifacts, openLocalExecutor } from '#runtime';
import { requireArgument } from './check-arguments.ts';
import type { FileContentEncoding } from './code-languages.ts';
import type { AdkRunSessions } from './base-session-service.ts';
import { AdkInMemorySessionService, readAsAdk } from './session-reads.ts';

/** Sessions in a database, as `DatabaseSessionService` opens them. */
export type DatabaseSessionService = AdkRunSessions & {
  /** Resolves at once: the tables are created with the first call. */
  init(): Promise<void>;
};

/**
 * Opens the sessions of a URL, on Node: `sqlite://` with a path, `sqlite://:memory:`, or `postgres://`, for which the
 * package `pg` must be installed. MySQL, MariaDB, SQL Server and options of MikroORM throw a ConfigurationError.
 * Returns a `SqliteSessionService` or a `PostgresSessionService`.
 *
 * @example
 * const sessionService = new DatabaseSessionService('sqlite://sessions.db');
 */
export const DatabaseSessionService: new (url: string) => DatabaseSessionService = opener(
  'DatabaseSessionService',
  (url: string) =>
    Object.assign(readAsAdk(openDatabaseSessions(url, 'DatabaseSessionService')), { init: () => Promise.resolve() }),
);

const DATABASE_URL = /^(?:postgres|postgresql|mysql|mariadb|mssql|sqlite):\/\//;

/** Returns true for the URL of a database of the ADK, also of one that `DatabaseSessionService` refuses here. */
export function isDatabaseConnectionString(uri?: string): boolean {
  return typeof uri === 'string' && DATABASE_URL.test(uri);
}

/** Artifacts in a folder, as the `FileArtifactService` for programs that were written for `@google/adk` opens them. */
export type AdkFileArtifactService = DriverArtifactService;

/**
 * Opens the artifacts of a folder, on Node, for programs that were written for `@google/adk`. It takes a path, or a URL
 * with the scheme `file`, and gives the service of `@eventloom/artifacts/fs`, whose own `FileArtifactService` takes
 * `{ rootDir }`.
 *
 * @example
 * const artifactService = new FileArtifactService('artifacts');
 */
export const AdkFileArtifactService: new (rootDirOrUri: string) => DriverArtifactService = opener(
  'FileArtifactService',
  (rootDirOrUri: string) => {
    if (typeof rootDirOrUri !== 'string' || rootDirOrUri === '')
      throw new ConfigurationError(
        `FileArtifactService: expected the path of a folder, got ${rootDirOrUri === '' ? 'an empty text' : describeKind(rootDirOrUri)}; write new FileArtifactService('artifacts')`,
      );
    return openFileArtifacts(rootDirOrUri);
  },
);

/**
 * Options of the `GcsArtifactService` of programs that were written for `@google/adk`: those of `@google-cloud/storage`
 * that reach a bucket.
 */
export interface AdkGcsOptions {
  /** The project that is charged for the credentials, if these name none. */
  readonly projectId?: string | undefined;
  /**
   * Path of a key file. Default: the credentials of the environment, such as the file that
   * `GOOGLE_APPLICATION_CREDENTIALS` names. Node only.
   */
  readonly keyFilename?: string | undefined;
  /** The content of a key file. Node only. */
  readonly credentials?: object | undefined;
  /** URL of the service. Default: `STORAGE_EMULATOR_HOST`, on Node, or `https://storage.googleapis.com`. */
  readonly apiEndpoint?: string | undefined;
  /** Returns an access token, in place of the other credentials. Required outside Node. */
  readonly accessToken?: (() => string | Promise<string>) | undefined;
}

const GCS_OPTIONS: OptionRules<AdkGcsOptions> = {
  projectId: 'text',
  keyFilename: 'text',
  credentials: 'object',
  apiEndpoint: 'text',
  accessToken: 'function',
};

/** Artifacts in a bucket of Cloud Storage, as the `GcsArtifactService` for programs that were written for `@google/adk` opens them. */
export type AdkGcsArtifactService = DriverArtifactService;

/**
 * Opens the artifacts of a bucket of Cloud Storage for programs that were written for `@google/adk`, whose objects it
 * reads. It gives the service of `@eventloom/artifacts/gcs`, whose own `GcsArtifactService` takes
 * `{ bucket, accessToken }`. Needs no `@google-cloud/storage`. Credentials of the environment come from
 * `google-auth-library`, which is installed with that package and with `@google/genai`.
 *
 * @example
 * const artifactService = new GcsArtifactService('my-artifacts');
 */
export const AdkGcsArtifactService: new (bucket: string, options?: AdkGcsOptions) => DriverArtifactService = opener(
  'GcsArtifactService',
  (bucket: string, options: AdkGcsOptions = {}) => {
    if (typeof bucket !== 'string')
      throw new ConfigurationError(
        `GcsArtifactService: expected the name of a bucket, got ${describeKind(bucket)}; write new GcsArtifactService('my-artifacts')`,
      );
    checkOptions('GcsArtifactService', GCS_OPTIONS, options);
    return openGcsArtifacts(bucket, options);
  },
);

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

const LOCAL_OPTIONS: OptionRules<AdkLocalExecutorOptions> = {
  timeoutSeconds: { is: 'number', min: Number.MIN_VALUE, wanted: 'a positive number of seconds', write: '10' },
  commandPath: 'text',
  pythonCommandPath: { is: 'text', write: "'/usr/bin/python3'" },
  shellCommandPath: { is: 'text', write: "'/bin/bash'" },
};

/** Parameters of `executeCode`. A program that calls it needs no signal: the code is then stopped after `timeoutSeconds`. */
export interface AdkExecuteCodeParams extends Omit<ExecuteCodeParams, 'abortSignal' | 'codeExecutionInput'> {
  readonly codeExecutionInput: Omit<CodeExecutionInput, 'inputFiles'> & {
    /** Files whose content has the encoding `contentEncoding`. Default: base64. */
    readonly inputFiles?:
      | readonly (CodeFile & { readonly contentEncoding?: FileContentEncoding | undefined })[]
      | undefined;
  };
  readonly abortSignal?: AbortSignal | undefined;
}

/** Code in processes of this machine, as the `UnsafeLocalCodeExecutor` for programs that were written for `@google/adk` runs it. */
export interface AdkUnsafeLocalCodeExecutor extends BaseCodeExecutor {
  /**
   * Runs code in a process of this machine, in a folder with the files of the input.
   * @throws InvalidRequestError for `args`, and for a file with a content that is not in its encoding, or with folders
   * in its name
   */
  executeCode(
    params: AdkExecuteCodeParams,
  ): Promise<CodeExecutionOutput & { readonly outputFiles: readonly CodeFile[] }>;
}

/**
 * Creates the executor of `@eventloom/llm-agent/node`, on Node, for programs that were written for `@google/adk`. It
 * runs a model's Python, JavaScript and shell scripts in processes of this machine, **without any protection**.
 *
 * @example const agent = new LlmAgent({ name: 'analyst', model: 'gemini-flash-latest', codeExecutor: new
 * UnsafeLocalCodeExecutor({ timeoutSeconds: 10 }) });
 */
export const AdkUnsafeLocalCodeExecutor: new (options?: AdkLocalExecutorOptions) => AdkUnsafeLocalCodeExecutor = opener(
  'UnsafeLocalCodeExecutor',
  (options: AdkLocalExecutorOptions = {}) => {
    checkOptions('UnsafeLocalCodeExecutor', LOCAL_OPTIONS, options);
    return openLocalExecutor(options);
  },
);

/**
 * Makes a class of this name whose constructor returns the result of `open`. A class of the program can extend it, and
 * override methods that the result has from its own class.
 */
function opener<P extends unknown[], T extends object>(
  name: string,
  open: (...params: P) => T,
): new (...params: P) => T {
  const opened = new WeakSet<object>();
  const Opener: new (...params: P) => object = class {
    static readonly name: string = name;

    static [Symbol.hasInstance](value: unknown): boolean {
      if (typeof value !== 'object' || value === null || !opened.has(value)) return false;
      return this.prototype === Opener.prototype || Object.prototype.isPrototypeOf.call(this.prototype, value);
    }
  };
  const construct = (_target: object, params: P, { prototype }: Function): T => {
    const service = open(...params);
    opened.add(service);
    return prototype === Opener.prototype ? service : extendService(name, Opener.prototype, prototype, service);
  };
  return new Proxy(Opener, { construct }) as new (...params: P) => T;
}

/**
 * Puts the methods of a subclass before those of a service.
 * @param base the prototype of the class that the program extends
 * @param derived the prototype of the program's class
 * @throws ConfigurationError for a service with methods of its own, which the methods of the subclass would not replace
 */
function extendService<T extends object>(name: string, base: object, derived: object, service: T): T {
  if (Object.values(service).some((value) => typeof value === 'function'))
    throw new ConfigurationError(
      `${name}: cannot be extended; write a class that extends BaseSessionService and calls new ${name}(url)`,
    );
  const ofService: object | null = Object.getPrototypeOf(service);
  if (Object.getPrototypeOf(base) !== ofService) Object.setPrototypeOf(base, ofService);
  return Object.setPrototypeOf(service, derived);
}

/**
 * Opens the session service of a URL: `memory://`, or a URL that `DatabaseSessionService` opens.
 * @throws ConfigurationError for another URL
 */
export function getSessionServiceFromUri(uri: string): AdkRunSessions {
  requireUri('getSessionServiceFromUri', uri, 'sqlite://sessions.db');
  return uri.startsWith('memory://')
    ? new AdkInMemorySessionService()
    : readAsAdk(openDatabaseSessions(uri, 'getSessionServiceFromUri'));
}

/**
 * Opens the artifact service of a URL: `memory://`, `file://` with a folder, or `gs://` with a bucket.
 * @throws ConfigurationError for another URL
 */
export function getArtifactServiceFromUri(uri: string): BaseArtifactService {
  requireUri('getArtifactServiceFromUri', uri, 'file://artifacts');
  if (uri.startsWith('memory://')) return new InMemoryArtifactService();
  if (uri.startsWith('file://')) return openFileArtifacts(uri);
  if (uri.startsWith('gs://')) return openGcsArtifacts(uri.slice('gs://'.length));
  const scheme = uri.slice(0, Math.max(0, uri.indexOf('://')));
  throw new ConfigurationError(
    `getArtifactServiceFromUri: the scheme ${JSON.stringify(scheme)} is not supported; write memory://, file://… or gs://…, or create the service yourself`,
  );
}

function requireUri(caller: string, uri: unknown, example: string): void {
  requireArgument(typeof uri === 'string', caller, 'a URL', uri, `${caller}('${example}')`);
}
