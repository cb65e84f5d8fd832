import type { CodeExecutionOutput, ExecuteCodeParams } from '@eventloom/core';
import { QuickJsCodeExecutor, type QuickJsCodeExecutorOptions } from '../quickjs-code-executor.ts';
import { QuickJsThreads } from './quickjs-threads.ts';

/** Options of a `QuickJsThreadCodeExecutor`: those of `QuickJsCodeExecutor`, and the threads that run the code. */
export interface QuickJsThreadCodeExecutorOptions extends QuickJsCodeExecutorOptions {
  /** The threads that run the code. Default: a pool that all executors of the process share. */
  readonly threads?: QuickJsThreads;
  /**
   * Maximum time that code waits for a thread, in milliseconds. After that the code is not run, and the model gets an
   * error result. Default 30,000.
   */
  readonly maxWaitMs?: number;
}

const sharedThreads = new QuickJsThreads();

/**
 * Runs code like QuickJsCodeExecutor, but on a thread of a bounded pool. The calling thread is not blocked, and an abort of the run ends
 * the code immediately. Users take turns, so that many executions of one user do not delay those of others.
 */
export class QuickJsThreadCodeExecutor extends QuickJsCodeExecutor {
  readonly #threads: QuickJsThreads;
  readonly #maxWaitMs: number;

  /**
   * @throws ConfigurationError for a limit out of range, a module that is not this package's, and an option name that
   * this version does not know
   */
  constructor({ threads = sharedThreads, maxWaitMs = 30_000, ...options }: QuickJsThreadCodeExecutorOptions = {}) {
    super(options, maxWaitMs);
    this.#threads = threads;
    this.#maxWaitMs = maxWaitMs;
  }

  override executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    const { abortSignal, invocationContext } = params;
    const { appName, userId, platform } = invocationContext;
    const owner = JSON.stringify([appName, userId]);
    return this.#threads.run({
      params: this.toRunParams(params),
      owner,
      abortSignal,
      maxWaitMs: this.#maxWaitMs,
      platform,
    });
  }
}
