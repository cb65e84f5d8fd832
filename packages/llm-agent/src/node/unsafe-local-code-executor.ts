import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { type CodeFile, ConfigurationError, InvalidRequestError, toError } from '@eventloom/core';
import { checkOptions, describeKind, type OptionRules } from '@eventloom/core/internal';
import {
  type CodeSandbox,
  EXECUTOR_OPTIONS,
  SANDBOX_LIMITS,
  SandboxCodeExecutor,
  type SandboxCodeExecutorOptions,
  type SandboxProgram,
  type SandboxResult,
} from '../code-execution/sandbox-code-executor.ts';

/** Options of `openLocalSandbox`. */
export interface LocalSandboxOptions {
  /**
   * The program and its arguments for each language, in lower case. The program reads the code from its standard input. Default:
   * `python3 -` for Python, and this process's node for JavaScript.
   */
  readonly commands?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The environment of the programs. Default: only a `PATH`, so that no secret of this process is in it. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Options of an `UnsafeLocalCodeExecutor`. */
export interface UnsafeLocalCodeExecutorOptions extends Omit<SandboxCodeExecutorOptions, 'open'>, LocalSandboxOptions {}

const OPTIONS: OptionRules<UnsafeLocalCodeExecutorOptions> = {
  ...EXECUTOR_OPTIONS,
  ...SANDBOX_LIMITS,
  commands: { is: 'object', write: "{ python: ['python3', '-'] }" },
  env: 'object',
};

const COMMANDS: Readonly<Record<string, readonly string[]>> = { python: ['python3', '-'], javascript: [execPath, '-'] };
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** Maximum number of bytes that are kept of stdout, and of stderr, of one program. */
const MAX_OUTPUT_BYTES = 10_000_000;
/** Maximum size of a file that is read, in bytes, and maximum number of files. */
const MAX_FILE_BYTES = 10_000_000;
const MAX_FILES = 100;

/**
 * Runs a model's code in processes of this machine, **without any protection**: the code may read and delete every file, and reach every
 * network, that this process may. Use it only for models and users that you trust, on a machine that holds nothing of value.
 *
 * The code runs in a temporary folder that holds the files of the user's message, without the environment of this process. Files that it
 * writes there become artifacts. An abort, or `timeoutMs`, ends its processes. Default: Python with `python3`; JavaScript too, with
 * `codeBlockDelimiters` that name it.
 *
 * @example
 * import { UnsafeLocalCodeExecutor } from '@eventloom/llm-agent/node';
 *
 * const agent = new LlmAgent({ name: 'analyst', model: 'gemini-flash-latest', codeExecutor: new UnsafeLocalCodeExecutor() });
 */
export class UnsafeLocalCodeExecutor extends SandboxCodeExecutor {
  /** @throws ConfigurationError for an invalid value, and for an option name that this version does not know */
  constructor(options: UnsafeLocalCodeExecutorOptions = {}) {
    checkOptions('UnsafeLocalCodeExecutor', OPTIONS, options);
    const { commands, env, ...rest } = options;
    for (const [language, command] of Object.entries(commands ?? {})) {
      if (!Array.isArray(command) || command.length === 0 || !command.every((word) => typeof word === 'string'))
        throw new ConfigurationError(
          `UnsafeLocalCodeExecutor: commands.${language}: expected a list of a program and its arguments, got ${describeKind(command)}; write commands: { ${language}: ['${language}', '-'] }`,
        );
    }
    super({ ...rest, open: () => openLocalSandbox({ commands, env }) });
  }
}

const SANDBOX: OptionRules<LocalSandboxOptions> = { commands: OPTIONS.commands, env: OPTIONS.env };

/**
 * Opens a temporary folder in which programs run as processes of this machine, without any protection.
 * @throws ConfigurationError for an unknown option
 */
export async function openLocalSandbox(options: LocalSandboxOptions = {}): Promise<CodeSandbox> {
  checkOptions('openLocalSandbox', SANDBOX, options);
  const { commands, env } = options;
  const folder = await mkdtemp(join(tmpdir(), 'eventloom-code-'));
  return new LocalSandbox(folder, { ...COMMANDS, ...commands }, { PATH, HOME: folder, ...env });
}

class LocalSandbox implements CodeSandbox {
  readonly #folder: string;
  readonly #commands: Readonly<Record<string, readonly string[]>>;
  readonly #env: Readonly<Record<string, string>>;
  readonly #running = new Set<ChildProcess>();
  #isClosed = false;

  constructor(
    folder: string,
    commands: Readonly<Record<string, readonly string[]>>,
    env: Readonly<Record<string, string>>,
  ) {
    this.#folder = folder;
    this.#commands = commands;
    this.#env = env;
  }

  async writeFile({ name, content }: CodeFile): Promise<void> {
    this.#check();
    if (name === '' || name === '.' || name === '..' || /[/\\\0]/.test(name))
      throw new InvalidRequestError(
        `the file name ${JSON.stringify(name.slice(0, 100))} leads out of the folder of the code; write a name without folders`,
      );
    await writeFile(join(this.#folder, name), content, 'base64');
  }

  async run({ code, language, abortSignal }: SandboxProgram): Promise<SandboxResult> {
    this.#check();
    abortSignal.throwIfAborted();
    const name = language === '' ? (Object.keys(this.#commands)[0] ?? '') : language;
    const [program, ...args] = (Object.hasOwn(this.#commands, name) && this.#commands[name]) || [];
    if (program === undefined)
      return {
        stdout: '',
        stderr: `The code was not run: there is no command for ${name.slice(0, 60)}; the languages are ${Object.keys(this.#commands).join(', ')}.`,
        exitCode: 1,
      };
    // A group of its own, so that the processes that the code starts end with it.
    const child = spawn(program, args, { cwd: this.#folder, env: this.#env, detached: true, stdio: 'pipe' });
    this.#running.add(child);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const stop = (): void => {
      end(child);
      reject(toError(abortSignal.reason));
    };
    abortSignal.addEventListener('abort', stop);
    child.once('error', (error) => {
      this.#running.delete(child);
      reject(
        new ConfigurationError(
          `the program "${program}" for ${name} cannot be started: ${error.message}; install it, or write commands: { ${name}: ['…'] } in the options of UnsafeLocalCodeExecutor`,
          {
            cause: error,
          },
        ),
      );
    });
    child.once('exit', (exitCode) => {
      this.#running.delete(child);
      // Processes that the code left behind would hold its output open.
      end(child);
      resolve(exitCode ?? 1);
    });
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    // A program may end before it has read all of its code.
    child.stdin.on('error', () => undefined).end(code);
    try {
      const exitCode = await promise;
      return { stdout: await stdout, stderr: await stderr, exitCode };
    } finally {
      abortSignal.removeEventListener('abort', stop);
    }
  }

  async readFiles(): Promise<readonly CodeFile[]> {
    this.#check();
    const entries = await readdir(this.#folder, { withFileTypes: true });
    const files: CodeFile[] = [];
    // Links are not files: they could lead out of the folder.
    for (const { name } of entries.filter((entry) => entry.isFile()).slice(0, MAX_FILES)) {
      const bytes = await readFile(join(this.#folder, name));
      if (bytes.length <= MAX_FILE_BYTES)
        files.push({ name, content: bytes.toString('base64'), mimeType: mimeTypeOf(name) });
    }
    return files;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const child of this.#running) end(child);
    await rm(this.#folder, { recursive: true, force: true });
  }

  #check(): void {
    if (this.#isClosed) throw new InvalidRequestError('the sandbox is closed');
  }
}

/** Ends a process and those that it started. */
function end({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}

/** Collects the beginning of an output. The rest is read and dropped, so that the program does not wait. */
async function collect(output: NodeJS.ReadableStream): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of output) {
    const bytes = Buffer.from(piece as Uint8Array);
    if (size < MAX_OUTPUT_BYTES) pieces.push(bytes.subarray(0, MAX_OUTPUT_BYTES - size));
    size += bytes.length;
  }
  return Buffer.concat(pieces).toString();
}

const MIME_TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
};

function mimeTypeOf(name: string): string {
  const extension = name.slice(name.lastIndexOf('.') + 1).toLowerCase();
  return Object.hasOwn(MIME_TYPES, extension) ? (MIME_TYPES[extension] ?? '') : 'application/octet-stream';
}
