import {
  BaseCodeExecutor,
  type CodeExecutionOutput,
  type CodeExecutorOptions,
  type CodeFile,
  ConfigurationError,
  type ExecuteCodeParams,
  toError,
} from '@eventloom/core';
import { checkOptions, integer, type OptionRules } from '@eventloom/core/internal';

/** The result of a program that ran in a sandbox. */
export interface SandboxResult {
  readonly stdout: string;
  readonly stderr: string;
  /** Exit code of the program: 0 if it succeeded. */
  readonly exitCode: number;
}

/** Parameters of `CodeSandbox.run`: a program, and the signal that stops it. */
export interface SandboxProgram {
  readonly code: string;
  /** In lower case: `python`, `javascript`, …; empty when unknown. */
  readonly language: string;
  readonly abortSignal: AbortSignal;
}

/**
 * An isolated place with its own folder, in which programs run: a container, a virtual machine or a process, also one of a remote
 * service. The executor calls one method at a time. `codeSandboxConformance` of `@eventloom/llm-agent/conformance` tests an
 * implementation.
 */
export interface CodeSandbox {
  /** Writes a file into the folder, over one of the same name. Rejects for a name that leads out of the folder. */
  writeFile(file: CodeFile, abortSignal: AbortSignal): Promise<void>;
  /**
   * Runs a program in the folder until it ends. A program that fails is a result with another `exitCode` than 0. When the signal fires,
   * the program is stopped and the promise rejects.
   */
  run(program: SandboxProgram): Promise<SandboxResult>;
  /** Returns the files in the folder, without those of inner folders. The sandbox may limit their names and sizes. */
  readFiles(abortSignal: AbortSignal): Promise<readonly CodeFile[]>;
  /** Stops running programs and removes the folder. Afterwards all other methods reject. A second call is a no-op. */
  close(): Promise<void>;
}

/** Options of a `SandboxCodeExecutor`. */
export interface SandboxCodeExecutorOptions extends CodeExecutorOptions {
  /**
   * Opens a new sandbox for one execution, or for one session with `stateful`. The signal fires when the run is aborted or the executor's
   * `timeoutMs` has passed.
   */
  readonly open: (abortSignal: AbortSignal) => Promise<CodeSandbox>;
  /** Time after which the unused sandbox of a session is closed, in milliseconds. Only with `stateful`. Default 300,000. */
  readonly idleMs?: number | undefined;
  /** Maximum number of open sandboxes. Code that finds none free is not run, and the model gets an error. Default 20. */
  readonly maxSandboxes?: number | undefined;
  /** Maximum length of each of stdout and stderr, in characters; the rest is cut. Default 20,000. */
  readonly maxOutputChars?: number | undefined;
  /** Maximum size of all output files together, in characters of base64. Files beyond it are named and not kept. Default 10,000,000. */
  readonly maxFileChars?: number | undefined;
}

/** The kinds of the options of every executor. */
export const EXECUTOR_OPTIONS: OptionRules<CodeExecutorOptions> = {
  stateful: 'flag',
  errorRetryAttempts: integer(0),
  codeBlockDelimiters: 'list',
  languages: 'list',
  executionResultDelimiters: 'list',
  timeoutMs: 'number',
  instruction: 'text',
};
/** The rules for the numbers of a `SandboxCodeExecutor`. */
export const SANDBOX_LIMITS: OptionRules<
  Pick<SandboxCodeExecutorOptions, 'idleMs' | 'maxSandboxes' | 'maxOutputChars' | 'maxFileChars'>
> = {
  idleMs: integer(1),
  maxSandboxes: integer(1),
  maxOutputChars: integer(1),
  maxFileChars: integer(1),
};
const OPTIONS: OptionRules<SandboxCodeExecutorOptions> = {
  ...EXECUTOR_OPTIONS,
  open: { is: 'function', write: '() => openSandbox()' },
  ...SANDBOX_LIMITS,
};
const EXAMPLE = 'new SandboxCodeExecutor({ open: () => openSandbox() })';

/** Maximum number of output files that are kept of one program. */
const MAX_FILES = 20;

/** The sandbox of a session. */
interface KeptSandbox {
  readonly opened: Promise<CodeSandbox>;
  /** Settles when the programs so far have ended: the programs of a session run one after the other. */
  last: Promise<unknown>;
  users: number;
  /** Cancels the timer that closes the sandbox; undefined while it is used. */
  cancelClosing: (() => void) | undefined;
}

/**
 * Runs a model's code in sandboxes, for example of a service for remote ones. Each execution gets a sandbox of its own, with the files of
 * the user's message in its folder; files that the code wrote become artifacts, and the sandbox is closed, also after a failure and an
 * abort. With `stateful` a session keeps its sandbox and the files in it until `idleMs` after its last use; `close` closes all of them.
 *
 * @example
 * export const createAnalyst = (open: () => Promise<CodeSandbox>) =>
 *   new LlmAgent({ name: 'analyst', model: 'gemini-flash-latest', codeExecutor: new SandboxCodeExecutor({ open }) });
 */
export class SandboxCodeExecutor extends BaseCodeExecutor {
  readonly #open: (abortSignal: AbortSignal) => Promise<CodeSandbox>;
  readonly #idleMs: number;
  readonly #maxSandboxes: number;
  readonly #maxOutputChars: number;
  readonly #maxFileChars: number;
  readonly #kept = new Map<string, KeptSandbox>();
  #openCount = 0;

  /** @throws ConfigurationError without `open`, for an invalid number, and for an option name that this version does not know */
  constructor(options: SandboxCodeExecutorOptions) {
    checkOptions('SandboxCodeExecutor', OPTIONS, options, {}, EXAMPLE);
    super(options);
    const { open, idleMs = 300_000, maxSandboxes = 20, maxOutputChars = 20_000, maxFileChars = 10_000_000 } = options;
    if (typeof open !== 'function')
      throw new ConfigurationError(`SandboxCodeExecutor: open is missing; write ${EXAMPLE}`);
    this.#open = open;
    this.#idleMs = idleMs;
    this.#maxSandboxes = maxSandboxes;
    this.#maxOutputChars = maxOutputChars;
    this.#maxFileChars = maxFileChars;
  }

  /** Runs code in a sandbox. Rejects with the sandbox's error if that fails, which fails the run. */
  override async executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    const { executionId } = params.codeExecutionInput;
    const { invocationContext: context } = params;
    const key = executionId === undefined ? undefined : JSON.stringify([context.appName, context.userId, executionId]);
    const known = key === undefined ? undefined : this.#kept.get(key);
    if (key !== undefined && known) return this.#runKept(key, known, params);
    const room = this.#reserve();
    if (!room) {
      const stderr = `The code was not run: all ${this.#maxSandboxes} sandboxes are in use. Try again later.`;
      return { stdout: '', stderr, outcome: 'OUTCOME_FAILED' };
    }
    const opened = this.#openOne(room, params.abortSignal);
    if (key !== undefined) {
      const kept: KeptSandbox = { opened, last: Promise.resolve(), users: 0, cancelClosing: undefined };
      this.#kept.set(key, kept);
      return this.#runKept(key, kept, params);
    }
    const sandbox = await opened;
    try {
      return await this.#runIn(sandbox, params);
    } finally {
      await this.#closeOne(sandbox);
    }
  }

  /** Closes the sandboxes of all sessions. Code that runs in one fails. */
  async close(): Promise<void> {
    await Promise.all([...this.#kept.keys()].map((key) => this.#forget(key)));
  }

  async #runKept(key: string, kept: KeptSandbox, params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    kept.users++;
    kept.cancelClosing?.();
    kept.cancelClosing = undefined;
    const before = kept.last;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    kept.last = ended;
    try {
      await before;
      return await this.#runIn(await kept.opened, params);
    } catch (error) {
      // The sandbox cannot be reused after a program was stopped or the sandbox failed.
      await this.#forget(key, kept);
      throw error;
    } finally {
      end();
      kept.users--;
      if (kept.users === 0 && this.#kept.get(key) === kept) {
        // Most recently used last: room is made at the front.
        this.#kept.delete(key);
        this.#kept.set(key, kept);
        kept.cancelClosing = params.invocationContext.platform.schedule(
          this.#idleMs,
          () => void this.#forget(key, kept),
          { idle: true },
        );
      }
    }
  }

  async #runIn(sandbox: CodeSandbox, params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    const { codeExecutionInput, abortSignal } = params;
    const { code, language, inputFiles } = codeExecutionInput;
    for (const file of inputFiles) {
      abortSignal.throwIfAborted();
      await sandbox.writeFile(file, abortSignal);
    }
    const before = new Map((await sandbox.readFiles(abortSignal)).map(({ name, content }) => [name, content]));
    const { stdout, stderr, exitCode } = await sandbox.run({ code, language, abortSignal });
    const written = (await sandbox.readFiles(abortSignal)).filter(({ name, content }) => before.get(name) !== content);
    const outputFiles: CodeFile[] = [];
    const left: string[] = [];
    let chars = 0;
    for (const file of written) {
      const fits = outputFiles.length < MAX_FILES && chars + file.content.length <= this.#maxFileChars;
      if (!fits) {
        left.push(file.name);
        continue;
      }
      chars += file.content.length;
      outputFiles.push(file);
    }
    const notes =
      left.length > 0 ? `\nNot kept, because there are too many or they are too large: ${left.join(', ')}` : '';
    return {
      stdout: this.#cut(stdout),
      stderr: this.#cut(stderr) + notes.slice(0, 2000),
      ...(outputFiles.length > 0 && { outputFiles }),
      outcome: exitCode === 0 ? 'OUTCOME_OK' : 'OUTCOME_FAILED',
    };
  }

  #cut(text: string): string {
    const most = this.#maxOutputChars;
    return text.length > most ? `${text.slice(0, most)}\n(${text.length - most} more characters)` : text;
  }

  /**
   * Reserves the place of a sandbox, if necessary that of the session that has not used its own for the longest time. Returns a promise
   * of the free place; undefined if all are in use.
   */
  #reserve(): Promise<void> | undefined {
    const unused =
      this.#openCount < this.#maxSandboxes ? undefined : [...this.#kept].find(([, { users }]) => users === 0);
    if (this.#openCount >= this.#maxSandboxes && !unused) return undefined;
    this.#openCount++;
    return unused ? this.#forget(...unused) : Promise.resolve();
  }

  async #openOne(room: Promise<void>, abortSignal: AbortSignal): Promise<CodeSandbox> {
    try {
      await room;
      const sandbox = await this.#open(abortSignal);
      if (!abortSignal.aborted) return sandbox;
      await sandbox.close();
      throw toError(abortSignal.reason);
    } catch (error) {
      this.#openCount--;
      throw error;
    }
  }

  async #closeOne(sandbox: CodeSandbox): Promise<void> {
    try {
      await sandbox.close();
    } finally {
      this.#openCount--;
    }
  }

  async #forget(key: string, kept = this.#kept.get(key)): Promise<void> {
    if (!kept || this.#kept.get(key) !== kept) return;
    this.#kept.delete(key);
    kept.cancelClosing?.();
    const sandbox = await kept.opened.catch(() => undefined);
    if (sandbox) await this.#closeOne(sandbox);
  }
}
