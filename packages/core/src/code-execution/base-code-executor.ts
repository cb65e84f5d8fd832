import type { InvocationContext } from '../context/invocation-context.ts';
import { ConfigurationError } from '../errors.ts';
import type { Event } from '../event/event.ts';
import { appendInstructions, type LlmRequest } from '../model/llm-request.ts';
import type { CodeDelimiters, CodeExecutionOutput, ExecuteCodeParams } from './code-execution-types.ts';
import { CodeRun } from './code-run.ts';
import { inputFilesOf, withFileNames } from './input-files.ts';
import { languageOf } from './language-of.ts';
import { withCodeTags } from './with-code-tags.ts';

/** How an executor treats the code of a model. */
export interface CodeExecutorOptions {
  /** The executor keeps what code defined for the session's next code. Default false. */
  readonly stateful?: boolean;
  /** Failures in a row after which code is not run any more and the model's reply is the answer. Default 2. */
  readonly errorRetryAttempts?: number;
  /** What encloses code in a reply; the first is what the model is told to write. Default: blocks of Python. */
  readonly codeBlockDelimiters?: readonly CodeDelimiters[];
  /**
   * The languages that are run, in lower case: code in another is answered with an error and not run; code of which nothing says the
   * language is. Default: those that the delimiters name; any, where one of them names none.
   */
  readonly languages?: readonly string[] | undefined;
  /** What encloses a result when it is told to the model. */
  readonly executionResultDelimiters?: CodeDelimiters;
  /** How long the agent waits for a result, milliseconds. Default 30 seconds. */
  readonly timeoutMs?: number;
  /** What the model is told of running code; empty for nothing. */
  readonly instruction?: string;
}

/** An executor's chance to have a say in a model request. */
export interface CodeExecutorProcessLlmRequest {
  readonly invocationContext: InvocationContext;
  readonly llmRequest: LlmRequest;
}

/** Timers take no more. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const PYTHON: readonly CodeDelimiters[] = [
  ['```tool_code\n', '\n```'],
  ['```python\n', '\n```'],
];

/**
 * Runs code that a model writes, for an agent that has it as `codeExecutor`. A whole reply with code in it becomes two events,
 * both of the agent and both with the object `postprocessing.code_execution`: the reply up to its first code (tag
 * `code_execution_code`), and, after that one is committed and the code was run, the result (tag `code_execution_result`). Then
 * the model is asked again. A reply that calls functions runs no code, nor does one that was cut short.
 *
 * An executor serves any number of executions at once. What it isolates code from is its own promise.
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

  /**
   * Runs code. A failure of the code is a result; what this throws is a failure of the executor and fails the run. When
   * `abortSignal` fires the code has to end: the result is not waited for.
   */
  abstract executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput>;

  /**
   * Tells the model how to have code run, and which files the code can read. Called for every request, when it has its contents. The
   * names of the files stand beside the files in the message of the user.
   */
  processLlmRequest({ invocationContext, llmRequest }: CodeExecutorProcessLlmRequest): void {
    const files = this.instruction === '' ? [] : inputFilesOf(invocationContext.userContent);
    const hint = 'Code can read the files in the message of the user, each by the name that stands in front of it.';
    appendInstructions(llmRequest, [this.instruction, files.length > 0 ? hint : '']);
    if (files.length > 0) llmRequest.contents = withFileNames(llmRequest.contents, files);
  }

  /** The code of one run of an agent; undefined when the model's service runs it. Called by the agent. */
  startRun(context: InvocationContext): CodeRun | undefined {
    return new CodeRun(this, context);
  }

  /** The event with the tags of the code and the results it holds. Called by the agent for each reply and each chunk of one. */
  tagEvent(event: Event): Event {
    return withCodeTags(event);
  }
}

/** Undefined when not all delimiters name one. */
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
