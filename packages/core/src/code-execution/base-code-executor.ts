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

/** Code to run. */
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
  /** Saved as artifacts of the session. */
  readonly outputFiles?: readonly CodeFile[];
  /** The outcome of the code. If absent, code that wrote to `stderr` has failed. */
  readonly outcome?: CodeExecutionOutcome;
}

/** One execution. */
export interface ExecuteCodeParams {
  readonly invocationContext: InvocationContext;
  readonly codeExecutionInput: CodeExecutionInput;
  /** Fires when the run is aborted or the executor's `timeoutMs` is over: the result is not waited for. */
  readonly abortSignal: AbortSignal;
}

/** The text before and behind a block of code or a result. */
export type CodeDelimiters = readonly [opening: string, closing: string];

/** Options of every code executor. */
export interface CodeExecutorOptions {
  /** The executor keeps what code defined for the session's next code. Default false. */
  readonly stateful?: boolean;
  /** After this many failures in a row no code is run and the model's reply is the answer. Default 2. */
  readonly errorRetryAttempts?: number;
  /** The delimiters of code in a reply; the model is told to write the first pair. Default: blocks of Python. */
  readonly codeBlockDelimiters?: readonly CodeDelimiters[];
  /**
   * The languages that are run, in lower case. Code in another language is not run; the model gets an error. Code whose language is
   * unknown is run. Default: the languages that the delimiters name; any, if one of them names none.
   */
  readonly languages?: readonly string[] | undefined;
  /** The delimiters of a result in a model request. */
  readonly executionResultDelimiters?: CodeDelimiters;
  /** Time that the agent waits for a result, in milliseconds. Default 30,000. */
  readonly timeoutMs?: number;
  /** Tells the model how to have code run. Empty: nothing is added to the request. */
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
 * Runs code that a model writes, for an agent that has it as `codeExecutor`. A whole reply with code in it becomes two events,
 * both of the agent and both with the object `postprocessing.code_execution`: the reply up to its first code (tag
 * `code_execution_code`), and, after that one is committed and the code was run, the result (tag `code_execution_result`). Then
 * the model is asked again. No code is run of a reply that calls functions or was cut short.
 *
 * An executor serves any number of executions at once. Each executor documents how it isolates code.
 */
export abstract class BaseCodeExecutor {
  readonly stateful: boolean;
  readonly errorRetryAttempts: number;
  readonly codeBlockDelimiters: readonly CodeDelimiters[];
  /** Undefined: any. */
  readonly languages: readonly string[] | undefined;
  readonly executionResultDelimiters: CodeDelimiters;
  readonly timeoutMs: number;
  readonly instruction: string;

  /** @throws ConfigurationError for a number or a delimiter that cannot work */
  constructor(options: CodeExecutorOptions = {}) {
    this.stateful = options.stateful ?? false;
    this.errorRetryAttempts = options.errorRetryAttempts ?? 2;
    this.codeBlockDelimiters = options.codeBlockDelimiters ?? PYTHON;
    this.languages = options.languages ?? languagesOf(this.codeBlockDelimiters);
    this.executionResultDelimiters = options.executionResultDelimiters ?? ['```tool_output\n', '\n```'];
    this.timeoutMs = options.timeoutMs ?? 30_000;
    this.instruction = options.instruction ?? instructionFor(this.codeBlockDelimiters[0]);
    if (!Number.isInteger(this.errorRetryAttempts) || this.errorRetryAttempts < 0)
      throw new ConfigurationError('errorRetryAttempts: must be a whole number, 0 or more');
    if (!(this.timeoutMs > 0 && this.timeoutMs <= MAX_TIMER_MS))
      throw new ConfigurationError(`timeoutMs: must be more than 0 and at most ${MAX_TIMER_MS}`);
    if (this.codeBlockDelimiters.some(([opening, closing]) => opening === '' || closing === ''))
      throw new ConfigurationError('codeBlockDelimiters: must not be empty');
  }

  get '~eventloom.code-executor'(): true {
    return true;
  }

  /** True if the model's service runs the code: the agent then looks for no code in replies and never calls `executeCode`. */
  get runsInModel(): boolean {
    return false;
  }

  /**
   * Runs code. A failure of the code is a result; what this throws is a failure of the executor and fails the run. When
   * `abortSignal` fires the code has to end: the result is not waited for.
   */
  abstract executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput>;

  /** Adds `instruction` to a model request. The agent calls this for every request, once the request has its contents. */
  processLlmRequest({ llmRequest }: CodeExecutorProcessLlmRequest): void {
    appendInstructions(llmRequest, [this.instruction]);
  }
}

/** True for code executors, also those of another loaded copy of this package, for which `instanceof` is false. */
export function isBaseCodeExecutor(value: unknown): value is BaseCodeExecutor {
  return typeof value === 'object' && value !== null && '~eventloom.code-executor' in value;
}

/** The languages that the delimiters name. Undefined if one of them names none. */
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

/** Other names of languages. Gemini calls Python `tool_code`. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['js', 'javascript'],
  ['ts', 'typescript'],
  ['py', 'python'],
  ['tool_code', 'python'],
  ['language_unspecified', ''],
]);

/** The language that an opening delimiter or a vendor's name stands for, in lower case. Empty for none. */
export function languageOf(text: string): string {
  const name = /[\w+#-]+/.exec(text)?.[0].toLowerCase() ?? '';
  return ALIASES.get(name) ?? name;
}
