import {
  BaseCodeExecutor,
  type CodeDelimiters,
  type CodeExecutionOutput,
  type CodeExecutorOptions,
  ConfigurationError,
  type ExecuteCodeParams,
} from '@eventloom/core';
import { checkOptions, describeKind, integer, type OptionRules } from '@eventloom/core/internal';
import { checkEngine, type QuickJsEngine } from './create-engine.ts';
import { checkBounds, type QuickJsBounds } from './quickjs-bounds.ts';
import { runInQuickJs, type RunInQuickJsParams } from './run-in-quickjs.ts';

/** Options of a `QuickJsCodeExecutor`: the delimiters of code in replies, the limits of an execution, and the source of the engine. */
export interface QuickJsCodeExecutorOptions
  extends Omit<CodeExecutorOptions, 'stateful' | 'timeoutMs' | 'languages'>, QuickJsBounds, QuickJsEngine {}

const OPTIONS: OptionRules<QuickJsCodeExecutorOptions> = {
  errorRetryAttempts: integer(0),
  codeBlockDelimiters: 'list',
  executionResultDelimiters: 'list',
  instruction: 'text',
  timeoutMs: 'number',
  maxOperations: 'number',
  memoryBytes: 'number',
  stackBytes: 'number',
  maxOutputChars: 'number',
  wasmModule: 'object',
};

/** Time that an execution may take in addition to its code: to start a thread and load the engine on a busy machine. */
const ALLOWANCE_MS = 5_000;

/** Blocks marked `tool_code` count as Python: the model that writes them gets an error that names the executor's language. */
const DELIMITERS: readonly CodeDelimiters[] = [
  ['```javascript\n', '\n```'],
  ['```js\n', '\n```'],
  ['```tool_code\n', '\n```'],
];

const INSTRUCTION = [
  'To run JavaScript, write it in one block of this form and end your reply with it. You then get its output:',
  '```javascript\nconsole.log("hello");\n```',
  'Each script runs by itself: nothing is kept, and there are no network, file system, timers or modules.',
  'The texts of files, if there are any, are in the global object `files` by their names.',
].join('\n');

/**
 * Runs a model's JavaScript in QuickJS compiled to WebAssembly, in a new instance of the engine for each execution. The code has a
 * `console`, and the files of the user's message by name in `files` (text files as text, others as base64). It has no network, file system,
 * timers or modules, and no access to the host. Top-level `await` works. The printed output is the result; without output it is the value
 * of the last expression. Errors contain line numbers.
 *
 * The code runs on the calling thread and blocks it until it ends or `timeoutMs` (1 second) or `maxOperations` is used up, even inside one
 * call of a built-in function. An abort of the run is noticed before the code starts, but not while it runs. On node,
 * QuickJsThreadCodeExecutor of `@eventloom/quickjs/node` runs the code on a thread and does not block.
 */
export class QuickJsCodeExecutor extends BaseCodeExecutor {
  readonly #settings: Omit<RunInQuickJsParams, 'code' | 'now'>;

  /**
   * @param maxWaitMs time in milliseconds that an execution of a subclass may wait before it starts; it is added to the agent's timeout
   * @throws ConfigurationError for a limit out of range, for a module that is not this package's, and for an option
   * name that this version does not know
   */
  constructor(options: QuickJsCodeExecutorOptions = {}, maxWaitMs = 0) {
    checkOptions(new.target.name, OPTIONS, options);
    if (!(maxWaitMs >= 0))
      throw new ConfigurationError(
        `${new.target.name}: maxWaitMs: expected a number of at least 0, got ${describeKind(maxWaitMs)}; write maxWaitMs: 10_000`,
      );
    const { wasmModule, ...rest } = options;
    const bounds = checkBounds(new.target.name, options);
    checkEngine(options);
    super({
      codeBlockDelimiters: DELIMITERS,
      instruction: INSTRUCTION,
      ...rest,
      languages: ['javascript'],
      timeoutMs: maxWaitMs + bounds.timeoutMs + ALLOWANCE_MS,
    });
    this.#settings = { ...bounds, ...(wasmModule && { wasmModule }) };
  }

  /** Creates the parameters of an execution, without its clock. */
  protected toRunParams({ codeExecutionInput }: ExecuteCodeParams): Omit<RunInQuickJsParams, 'now'> {
    const { code, inputFiles } = codeExecutionInput;
    return { ...this.#settings, code, inputFiles };
  }

  override async executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    const { platform } = params.invocationContext;
    return runInQuickJs({ ...this.toRunParams(params), now: () => platform.now() });
  }
}
