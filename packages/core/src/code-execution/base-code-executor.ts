import { describeKind } from '../content/json.ts';
import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import { appendInstructions, type LlmRequest } from '../model/llm-request.ts';

/** A file that code reads or writes. */
export interface CodeFile {
  /** A file name such as `sales.csv`. An output file is saved as the artifact of this name. */
  readonly name: string;
  /** The bytes as base64. */
  readonly content: string;
  readonly mimeType: string;
}

/** The code that an executor gets. */
export interface CodeExecutionInput {
  readonly code: string;
  /** In lower case: `python`, `javascript`, …; empty when unknown. */
  readonly language: string;
  /** The files in the user's message. */
  readonly inputFiles: readonly CodeFile[];
  /** The session's id, the same for all code of a session. Only for a stateful executor. */
  readonly executionId?: string;
}

/** The `outcome` of a `codeExecutionResult` part: how the code ended. */
export type CodeExecutionOutcome = 'OUTCOME_OK' | 'OUTCOME_FAILED' | 'OUTCOME_DEADLINE_EXCEEDED';

/** The result of running code. A failure of the code is a result too. */
export interface CodeExecutionOutput {
  readonly stdout: string;
  readonly stderr: string;
  /** Files to save as artifacts of the session. Absent: none. */
  readonly outputFiles?: readonly CodeFile[];
  /** The outcome of the code. If absent, code that wrote to `stderr` has failed. */
  readonly outcome?: CodeExecutionOutcome;
}

/** Parameters of `BaseCodeExecutor.executeCode`: the code, and the run that it belongs to. */
export interface ExecuteCodeParams {
  readonly invocationContext: InvocationContext;
  readonly codeExecutionInput: CodeExecutionInput;
  /** Fires when the run is aborted or after the executor's `timeoutMs`. The agent then stops waiting for the result. */
  readonly abortSignal: AbortSignal;
}

/** The text before and after a block of code or a result. */
export type CodeDelimiters = readonly [opening: string, closing: string];

/** Options of every code executor. */
export interface CodeExecutorOptions {
  /** True keeps variables and definitions for the next code of the session. Default false. */
  readonly stateful?: boolean;
  /** Number of consecutive failures after which no more code is run and the model's reply is the answer. Default 2. */
  readonly errorRetryAttempts?: number;
  /** Delimiters of code in a reply. The instruction tells the model to write the first pair. Default: Markdown blocks of Python. */
  readonly codeBlockDelimiters?: readonly CodeDelimiters[];
  /**
   * Languages that are run, in lower case. Code in another language is not run, and the model gets an error. Code of an unknown language
   * is run. Default: the languages named in the delimiters; every language if a delimiter names none.
   */
  readonly languages?: readonly string[] | undefined;
  /** The delimiters of a result in a model request. */
  readonly executionResultDelimiters?: CodeDelimiters;
  /** Time that the agent waits for a result, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Instruction that tells the model to write code in a block. Empty: no instruction. Default: one with the first delimiters. */
  readonly instruction?: string;
}

/** Parameters of `processLlmRequest`. */
export interface CodeExecutorProcessLlmRequest {
  readonly invocationContext: InvocationContext;
  readonly llmRequest: LlmRequest;
}

/** The longest delay that timers take. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const PYTHON: readonly CodeDelimiters[] = [
  ['```tool_code\n', '\n```'],
  ['```python\n', '\n```'],
];

/**
 * Base of code executors, which run code that a model writes; set as `codeExecutor` of an agent. A complete reply with code becomes
 * two events of the agent, both with the object `postprocessing.code_execution`: first the reply up to the end of its first code (tag
 * `code_execution_code`); then, after that event is committed and the code was run, the result (tag `code_execution_result`). Then
 * the model is called again. Code in a reply that calls functions or is truncated is not run.
 *
 * An executor serves any number of executions at the same time. Each executor documents how it isolates code.
 */
export abstract class BaseCodeExecutor {
  /** See `CodeExecutorOptions.stateful`. */
  stateful: boolean;
  /** See `CodeExecutorOptions.errorRetryAttempts`. */
  errorRetryAttempts: number;
  readonly #languages: readonly string[] | undefined;
  readonly #instruction: string | undefined;
  #codeBlockDelimiters: readonly CodeDelimiters[] = PYTHON;
  /** See `CodeExecutorOptions.executionResultDelimiters`. */
  readonly executionResultDelimiters: CodeDelimiters;
  /** See `CodeExecutorOptions.timeoutMs`. */
  readonly timeoutMs: number;

  /** @throws ConfigurationError for an invalid number or delimiter */
  constructor(options: CodeExecutorOptions = {}) {
    this.stateful = options.stateful ?? false;
    this.errorRetryAttempts = options.errorRetryAttempts ?? 2;
    this.codeBlockDelimiters = options.codeBlockDelimiters ?? PYTHON;
    this.#languages = options.languages;
    this.executionResultDelimiters = options.executionResultDelimiters ?? ['```tool_output\n', '\n```'];
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.#instruction = options.instruction;
    if (!Number.isInteger(this.errorRetryAttempts) || this.errorRetryAttempts < 0)
      throw new ConfigurationError(
        `${new.target.name}: errorRetryAttempts: expected an integer of at least 0, got ${describeKind(this.errorRetryAttempts)}; write errorRetryAttempts: 2`,
      );
    if (!(this.timeoutMs > 0 && this.timeoutMs <= MAX_TIMER_MS))
      throw new ConfigurationError(
        `${new.target.name}: timeoutMs: expected a number above 0 and at most ${MAX_TIMER_MS}, got ${describeKind(this.timeoutMs)}; write timeoutMs: 30_000`,
      );
  }

  /** See `CodeExecutorOptions.codeBlockDelimiters`. Set them before the first run. @throws ConfigurationError for an empty delimiter */
  get codeBlockDelimiters(): readonly CodeDelimiters[] {
    return this.#codeBlockDelimiters;
  }

  set codeBlockDelimiters(delimiters: readonly CodeDelimiters[]) {
    if (delimiters.some(([opening, closing]) => opening === '' || closing === ''))
      throw new ConfigurationError(
        `${this.constructor.name}: codeBlockDelimiters: a delimiter is empty; write codeBlockDelimiters: [['<code>', '</code>']]`,
      );
    this.#codeBlockDelimiters = delimiters;
  }

  /** Languages that are run, in lower case; undefined for every language. See `CodeExecutorOptions.languages`. */
  get languages(): readonly string[] | undefined {
    return this.#languages ?? languagesOf(this.#codeBlockDelimiters);
  }

  /** See `CodeExecutorOptions.instruction`. */
  get instruction(): string {
    return this.#instruction ?? instructionFor(this.#codeBlockDelimiters[0]);
  }

  get '~eventloom.code-executor'(): true {
    return true;
  }

  /** True if the model's service runs the code. The agent then never calls `executeCode`. */
  get runsInModel(): boolean {
    return false;
  }

  /**
   * Runs code. A failure of the code is a result; an error that this method throws is a failure of the executor and fails the run. Must
   * stop the code when `abortSignal` fires; the result is then ignored.
   */
  abstract executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput>;

  /** Adds `instruction` to a model request. The agent calls this for every request, once the request has its contents. */
  processLlmRequest({ llmRequest }: CodeExecutorProcessLlmRequest): void {
    appendInstructions(llmRequest, [this.instruction]);
  }
}

/** True for code executors, including those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseCodeExecutor(value: unknown): value is BaseCodeExecutor {
  return typeof value === 'object' && value !== null && '~eventloom.code-executor' in value;
}

/** Returns the languages that the delimiters name; undefined if one of them names none. */
function languagesOf(delimiters: readonly CodeDelimiters[]): readonly string[] | undefined {
  const languages = new Set(delimiters.map(([opening]) => languageOf(opening)));
  return languages.size === 0 || languages.has('') ? undefined : [...languages];
}

function instructionFor([opening, closing]: CodeDelimiters = ['', '']): string {
  if (opening === '') return '';
  return [
    `To have code run, write it in one block of this form and end your reply with it; what it prints comes back to you:`,
    `${opening}the code${closing}`,
  ].join('\n');
}

/** Aliases of languages. Gemini calls Python `tool_code`. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['js', 'javascript'],
  ['ts', 'typescript'],
  ['py', 'python'],
  ['tool_code', 'python'],
  ['language_unspecified', ''],
]);

/** Returns the language of an opening delimiter or of a vendor's name, in lower case; empty for none. */
export function languageOf(text: string): string {
  const name = /[\w+#-]+/.exec(text)?.[0].toLowerCase() ?? '';
  return ALIASES.get(name) ?? name;
}
