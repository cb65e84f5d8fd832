import type { CodeExecutionOutput, ExecuteCodeParams } from '@eventloom/core';
import { QuickJsCodeExecutor, type QuickJsCodeExecutorOptions } from '../quickjs-code-executor.ts';
import { QuickJsThreads } from './quickjs-threads.ts';

/** Options of the executor: how code is found in replies, its bounds, and the threads it runs on. */
export interface QuickJsThreadCodeExecutorOptions extends QuickJsCodeExecutorOptions {
  /** The threads that code runs on. Default: those that all executors of the process share. */
  readonly threads?: QuickJsThreads;
  /**
   * Time that code waits for a thread, in milliseconds; after it the model is told that the code was not run. Default
   * 30,000.
   */
  readonly maxWaitMs?: number;
}

const sharedThreads = new QuickJsThreads();

/**
 * QuickJsCodeExecutor on a thread of a bounded pool. The calling thread goes on meanwhile, and an abort of the run ends the code at
 * once. Users take turns: one who has a lot of code run does not keep the others waiting for all of it.
 */
export class QuickJsThreadCodeExecutor extends QuickJsCodeExecutor {
  readonly #threads: QuickJsThreads;
  readonly #maxWaitMs: number;

  /** @throws ConfigurationError for a bound that cannot work, a module that is not this package's, and an option this version does not have */
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
