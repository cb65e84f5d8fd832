import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { FileArtifactService } from '@eventloom/artifacts/fs';
import {
  type BaseArtifactService,
  type BaseCodeExecutor,
  type BaseSessionService,
  ConfigurationError,
} from '@eventloom/core';
import { UnsafeLocalCodeExecutor } from '@eventloom/llm-agent/node';
import { type PostgresPool, PostgresSessionService } from '@eventloom/sessions/postgres';
import { SqliteSessionService } from '@eventloom/sessions/sqlite';

const WRITE_URL =
  "write new DatabaseSessionService('sqlite://sessions.db') or new DatabaseSessionService('postgres://…')";

/**
 * Opens the sessions of a URL: `sqlite://` with a path, `sqlite://:memory:`, or `postgres://`, for which the package `pg` must be installed.
 * @throws ConfigurationError for another URL, without `pg`, and for a database that cannot be opened
 */
export function openDatabaseSessions(url: string): BaseSessionService {
  const scheme = typeof url === 'string' ? url.slice(0, Math.max(0, url.indexOf('://'))) : '';
  if (scheme === 'sqlite') return new SqliteSessionService({ path: url.slice('sqlite://'.length) });
  if (scheme === 'postgres' || scheme === 'postgresql')
    return new PostgresSessionService({ pool: new (loadPool())({ connectionString: url }) });
  throw new ConfigurationError(
    `DatabaseSessionService: the scheme ${JSON.stringify(scheme)} is not offered; ${WRITE_URL}`,
  );
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
export function openFileArtifacts(rootDirOrUri: string): BaseArtifactService {
  return new FileArtifactService({ rootDir: toFolder(rootDirOrUri) });
}

function toFolder(rootDirOrUri: string): string {
  if (!rootDirOrUri.startsWith('file://')) return rootDirOrUri;
  const path = rootDirOrUri.slice('file://'.length);
  return isAbsolute(path) ? fileURLToPath(rootDirOrUri) : path;
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

/** Creates an executor that runs Python, JavaScript and shell scripts in processes of this machine. @throws ConfigurationError for a value that cannot work */
export function openLocalExecutor({
  timeoutSeconds = 30,
  commandPath = process.execPath,
  pythonCommandPath = 'python3',
  shellCommandPath = 'bash',
}: LocalExecutorOptions = {}): BaseCodeExecutor {
  const shell = [shellCommandPath, '-s'];
  return new UnsafeLocalCodeExecutor({
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
