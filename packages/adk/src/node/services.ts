import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { DriverArtifactService } from '@eventloom/artifacts';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import { GcsArtifactService } from '@eventloom/artifacts/gcs';
import {
  type BaseSessionService,
  type CodeExecutionInput,
  type CodeExecutionOutput,
  type CodeFile,
  ConfigurationError,
  type ExecuteCodeParams,
  InvalidRequestError,
} from '@eventloom/core';
import { describeKind, isBase64, isRecord } from '@eventloom/core/internal';
import { UnsafeLocalCodeExecutor } from '@eventloom/llm-agent/node';
import { type PostgresPool, PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';
import { readVariable } from './environment.ts';

/**
 * Opens the sessions of a URL for a class or a function, the caller: `sqlite://` with a path, `sqlite://:memory:`, or
 * `postgres://`, for which the package `pg` must be installed.
 * @throws ConfigurationError for another URL, without `pg`, for a database that cannot be opened, and for a SQLite file
 * with the ADK's own tables. In PostgreSQL the first call throws for these tables
 */
export function openDatabaseSessions(url: string, caller: string): BaseSessionService {
  if (typeof url !== 'string')
    throw new ConfigurationError(
      `${caller}: expected a URL, got ${describeKind(url)}: options of MikroORM are not offered; write ${exampleOf(caller, 'sqlite://sessions.db')}`,
    );
  const scheme = url.slice(0, Math.max(0, url.indexOf('://')));
  if (scheme === 'sqlite') return openSqliteSessions(url.slice('sqlite://'.length));
  if (scheme === 'postgres' || scheme === 'postgresql')
    return new PostgresSessionService({ pool: refuseAdkTables(new (loadPool())({ connectionString: url })) });
  throw new ConfigurationError(
    `${caller}: the scheme ${JSON.stringify(scheme)} is not offered; write ${exampleOf(caller, 'sqlite://sessions.db')} or ${exampleOf(caller, 'postgres://…')}`,
  );
}

function exampleOf(caller: string, url: string): string {
  return `${caller.startsWith('get') ? '' : 'new '}${caller}('${url}')`;
}

function openSqliteSessions(path: string): SqliteSessionService {
  if (hasAdkTables(path))
    throw new ConfigurationError(
      `DatabaseSessionService: the file ${JSON.stringify(path)} has the tables of @google/adk, whose sessions cannot be read here; write the path of a new file`,
    );
  return new SqliteSessionService({ path });
}

const FIND_ADK_TABLES = "SELECT 1 FROM sqlite_master WHERE name IN ('adk_internal_metadata', 'app_states')";

/** True for a SQLite file with the ADK's own tables. False for a file that cannot be read, which the service reports. */
function hasAdkTables(path: string): boolean {
  if (path === ':memory:' || !existsSync(path)) return false;
  try {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const database = new DatabaseSync(path, { readOnly: true });
    try {
      return database.prepare(FIND_ADK_TABLES).get() !== undefined;
    } finally {
      database.close();
    }
  } catch {
    return false;
  }
}

/**
 * Returns a pool whose connections are refused for a database with the ADK's own tables. Their sessions cannot be read,
 * so the program would find none.
 */
export function refuseAdkTables(pool: PostgresPool): PostgresPool {
  let isChecked = false;
  return {
    query: (query) => pool.query(query),
    ...(pool.on && { on: pool.on.bind(pool) }),
    async connect() {
      const client = await pool.connect();
      if (isChecked) return client;
      const { rows } = await client.query({
        text: "SELECT WHERE coalesce(to_regclass('adk_internal_metadata'), to_regclass('app_states')) IS NOT NULL",
      });
      isChecked = rows.length === 0;
      if (isChecked) return client;
      client.release();
      throw new ConfigurationError(
        'DatabaseSessionService: the database has the tables of @google/adk, whose sessions cannot be read here; write the URL of another database',
      );
    },
  };
}

type PoolClass = new (options: { readonly connectionString: string }) => PostgresPool;

/** Loads `pg` of the program. It is not a dependency, because most programs need no PostgreSQL. */
function loadPool(): PoolClass {
  try {
    const { Pool } = createRequire(join(process.cwd(), 'package.json'))('pg') as { readonly Pool: PoolClass };
    return Pool;
  } catch (cause) {
    throw new ConfigurationError(
      'DatabaseSessionService: postgres needs the package pg; write npm install pg, or new PostgresSessionService({ pool })',
      { cause },
    );
  }
}

/** Opens the artifacts of a folder, given as a path or as a URL with the scheme `file`. */
export function openFileArtifacts(rootDirOrUri: string): DriverArtifactService {
  return new FileArtifactService({ rootDir: toFolder(rootDirOrUri) });
}

function toFolder(rootDirOrUri: string): string {
  if (!rootDirOrUri.startsWith('file://')) return rootDirOrUri;
  const path = rootDirOrUri.slice('file://'.length);
  return isAbsolute(path) ? fileURLToPath(rootDirOrUri) : path;
}

/** The address and the credentials of a bucket of Cloud Storage. */
interface GcsOptions {
  readonly projectId?: string | undefined;
  readonly keyFilename?: string | undefined;
  readonly credentials?: object | undefined;
  readonly apiEndpoint?: string | undefined;
  readonly accessToken?: (() => string | Promise<string>) | undefined;
}

/**
 * Opens the artifacts of a bucket, with the credentials of the options or those of the environment, for which the
 * package `google-auth-library` must be installed. An emulator, which `STORAGE_EMULATOR_HOST` names, needs none.
 * @throws ConfigurationError for an invalid value
 */
export function openGcsArtifacts(bucket: string, options: GcsOptions = {}): DriverArtifactService {
  const emulator = readVariable('STORAGE_EMULATOR_HOST');
  const host = emulator && (/^https?:/.test(emulator) ? emulator : `http://${emulator}`);
  const endpoint = options.apiEndpoint ?? host;
  const accessToken = options.accessToken ?? (emulator ? undefined : googleTokens(options, process.cwd()));
  return new GcsArtifactService({ bucket, accessToken, endpoint });
}

interface GoogleAuth {
  getAccessToken(): Promise<string | null | undefined>;
}

/**
 * Returns a function that gives access tokens of Google Cloud, and renews them.
 * @param folder where `google-auth-library` is looked for. It is loaded with the first token
 */
export function googleTokens(
  { projectId, keyFilename, credentials }: GcsOptions,
  folder: string,
): () => Promise<string> {
  let auth: GoogleAuth | undefined;
  return async () => {
    auth ??= new (loadGoogleAuth(folder))({
      scopes: 'https://www.googleapis.com/auth/devstorage.read_write',
      ...(projectId && { projectId }),
      ...(keyFilename && { keyFilename }),
      ...(credentials && { credentials }),
    });
    let token: string | null | undefined;
    try {
      token = await auth.getAccessToken();
    } catch (cause) {
      throw new ConfigurationError(
        'GcsArtifactService: there are no credentials of Google Cloud; set GOOGLE_APPLICATION_CREDENTIALS, or write { keyFilename }',
        { cause },
      );
    }
    if (!token) throw new ConfigurationError('GcsArtifactService: Google gave no access token for these credentials');
    return token;
  };
}

/** Loads `google-auth-library` of the program, which `@google/genai` and `@google-cloud/storage` bring along. */
function loadGoogleAuth(folder: string): new (options: object) => GoogleAuth {
  try {
    const { GoogleAuth: loaded } = createRequire(join(folder, 'package.json'))('google-auth-library') as {
      readonly GoogleAuth: new (options: object) => GoogleAuth;
    };
    return loaded;
  } catch (cause) {
    throw new ConfigurationError(
      'GcsArtifactService: credentials of the environment need the package google-auth-library; write npm install google-auth-library, or new GcsArtifactService(bucket, { accessToken })',
      { cause },
    );
  }
}

/** Blocks of code in the languages that an executor of the ADK runs. */
const BLOCKS = ['tool_code', 'python', 'javascript', 'js', 'bash', 'sh'].map(
  (language) => [`\`\`\`${language}\n`, '\n```'] as const,
);

/** Paths and limits of an executor of code in processes of this machine. */
interface LocalExecutorOptions {
  readonly timeoutSeconds?: number | undefined;
  readonly commandPath?: string | undefined;
  readonly pythonCommandPath?: string | undefined;
  readonly shellCommandPath?: string | undefined;
}

/** A file whose content is base64, or in the encoding that it names. */
type EncodedFile = CodeFile & { readonly contentEncoding?: 'utf-8' | 'base64' | undefined };

/** Parameters of a program that may give no signal and no files. */
interface ExecuteParams extends Omit<ExecuteCodeParams, 'abortSignal' | 'codeExecutionInput'> {
  readonly codeExecutionInput: Omit<CodeExecutionInput, 'inputFiles'> & {
    readonly inputFiles?: readonly EncodedFile[] | undefined;
  };
  readonly abortSignal?: AbortSignal | undefined;
}

/** A result that always has a list of files, as in the ADK. */
type ExecuteResult = CodeExecutionOutput & { readonly outputFiles: readonly CodeFile[] };

/** Runs Python, JavaScript and shell scripts in processes of this machine, also for a program that calls it without a signal. */
class LocalExecutor extends UnsafeLocalCodeExecutor {
  override async executeCode({ abortSignal, ...given }: ExecuteParams): Promise<ExecuteResult> {
    const { codeExecutionInput } = given;
    if (!isRecord(codeExecutionInput))
      throw new ConfigurationError(
        `UnsafeLocalCodeExecutor.executeCode: codeExecutionInput: expected an object, got ${describeKind(codeExecutionInput)}; write codeExecutionInput: { code, language: 'python', inputFiles: [] }`,
      );
    const { inputFiles = [], language } = codeExecutionInput;
    if ('args' in codeExecutionInput && codeExecutionInput.args !== undefined)
      throw new InvalidRequestError(
        'UnsafeLocalCodeExecutor.executeCode: args are not given to the code; write the values into the code',
      );
    const input = { ...codeExecutionInput, language: String(language), inputFiles: inputFiles.map(toBase64File) };
    const params = { ...given, codeExecutionInput: input };
    if (abortSignal) return { outputFiles: [], ...(await super.executeCode({ ...params, abortSignal })) };
    const timeout = AbortSignal.timeout(this.timeoutMs);
    try {
      return { outputFiles: [], ...(await super.executeCode({ ...params, abortSignal: timeout })) };
    } catch (error) {
      if (!timeout.aborted) throw error;
      const stderr = `Code execution timed out after ${this.timeoutMs / 1000} seconds.`;
      return { stdout: '', stderr, outputFiles: [], outcome: 'OUTCOME_FAILED' };
    }
  }
}

/** Returns a file with its content in base64. @throws InvalidRequestError for a content that is not in its encoding */
function toBase64File({ contentEncoding = 'base64', ...file }: EncodedFile): CodeFile {
  const { name, content } = file;
  if (contentEncoding !== 'base64')
    return { ...file, content: Buffer.from(content, contentEncoding).toString('base64') };
  if (content.length % 4 !== 0 || !isBase64(content))
    throw new InvalidRequestError(
      `UnsafeLocalCodeExecutor.executeCode: the content of the file ${JSON.stringify(name.slice(0, 100))} is not base64; write contentEncoding: FileContentEncoding.UTF8 for a text`,
    );
  return file;
}

/**
 * Creates an executor that runs Python, JavaScript and shell scripts in processes of this machine.
 * @throws ConfigurationError for an invalid value
 */
export function openLocalExecutor({
  timeoutSeconds = 30,
  commandPath = process.execPath,
  pythonCommandPath = 'python3',
  shellCommandPath = 'bash',
}: LocalExecutorOptions = {}): LocalExecutor {
  const shell = [shellCommandPath, '-s'];
  return new LocalExecutor({
    codeBlockDelimiters: BLOCKS,
    timeoutMs: timeoutSeconds * 1000,
    commands: {
      javascript: [commandPath, '-'],
      python: [pythonCommandPath, '-'],
      shell,
      bash: shell,
      sh: shell,
    },
  });
}
