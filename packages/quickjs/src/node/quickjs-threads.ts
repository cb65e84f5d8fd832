import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { CodeExecutionOutput, Platform } from '@eventloom/core';
import { checkOptions, integer, type OptionRules } from '@eventloom/core/internal';
import type { RunInQuickJsParams } from '../run-in-quickjs.ts';

/** Options of `QuickJsThreads`. */
export interface QuickJsThreadsOptions {
  /** Maximum number of concurrent executions. Default: the number of processors minus one, at least 2 and at most 8. */
  readonly maxThreads?: number;
  /** Time after which an idle thread is ended, in milliseconds. Default 5,000. */
  readonly idleMs?: number;
}

const OPTIONS: OptionRules<QuickJsThreadsOptions> = {
  maxThreads: { ...integer(1), write: '4' },
  idleMs: { is: 'number', min: 0, max: 2 ** 31 - 1, write: '5_000' },
};

/** Parameters of `QuickJsThreads.run`. */
export interface QuickJsThreadRun {
  /** Parameters of the run. The time of the code is measured on the thread. */
  readonly params: Omit<RunInQuickJsParams, 'now'>;
  /** Owner of the execution, such as a user id. Owners take turns. */
  readonly owner: string;
  /** Ends the code when it is aborted, or removes the execution from the queue. */
  readonly abortSignal: AbortSignal;
  /** Maximum time that the execution waits for a thread, in milliseconds. */
  readonly maxWaitMs: number;
  readonly platform: Platform;
}

/** A waiting or running execution. */
interface ThreadRun extends Pick<QuickJsThreadRun, 'params' | 'owner'> {
  readonly resolve: (output: CodeExecutionOutput) => void;
  readonly reject: (error: unknown) => void;
  /** The thread of a running execution; absent while it waits. */
  thread?: Thread;
}

/** A thread, with its execution or the timer that ends it. */
interface Thread {
  readonly worker: Worker;
  /** True once the thread is being ended: it gets no further execution, although the result of its last one may still arrive. */
  isEnding: boolean;
  execution: ThreadRun | undefined;
  idleTimer: NodeJS.Timeout | undefined;
}

/** The program of a thread: one execution after the other, each in a new engine. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const { module, wasmModule } = workerData;
const loaded = import(module);
parentPort.on('message', (params) => {
  loaded
    .then(({ runInQuickJs }) => runInQuickJs({ wasmModule, ...params, now: () => performance.now() }))
    .then((output) => parentPort.postMessage(output));
});
`;

const requireHere = createRequire(import.meta.url);
/** The compiled engine, which all threads share. Compiled when the first thread is started. */
let sharedEngine: WebAssembly.Module | undefined;

/**
 * A bounded pool of threads that run code in QuickJS. A thread runs one execution at a time, each in a new instance of
 * the engine, and ends after it has been idle for `idleMs`, which frees its memory. Further executions wait in a queue,
 * in which owners take turns and each owner's executions keep their order. A thread whose execution is aborted is ended
 * and replaced. Idle threads do not keep the process alive.
 */
export class QuickJsThreads {
  readonly #maxThreads: number;
  readonly #idleMs: number;
  /** Waiting executions by owner. The first entry is the owner whose turn is next. */
  readonly #queues = new Map<string, ThreadRun[]>();
  readonly #threads = new Set<Thread>();
  /** Idle threads. The most recently used one is last and is used first, so that the others can end. */
  readonly #idle: Thread[] = [];

  /** @throws ConfigurationError for an option out of range, and for an option name that this version does not know */
  constructor(options: QuickJsThreadsOptions = {}) {
    checkOptions('QuickJsThreads', OPTIONS, options);
    const { maxThreads = defaultThreads(), idleMs = 5_000 } = options;
    this.#maxThreads = maxThreads;
    this.#idleMs = idleMs;
  }

  /** The current number of threads. */
  get size(): number {
    return this.#threads.size;
  }

  /**
   * Runs code as soon as a thread is free. Resolves to an output with a failure if no thread was free for `maxWaitMs`,
   * `abortSignal` was aborted, or the thread ended without a result. Rejects if the thread itself fails.
   */
  async run({ params, owner, abortSignal, maxWaitMs, platform }: QuickJsThreadRun): Promise<CodeExecutionOutput> {
    if (abortSignal.aborted) return failure('The code was not run: it was aborted.');
    const { promise, resolve, reject } = Promise.withResolvers<CodeExecutionOutput>();
    const execution: ThreadRun = { params, owner, resolve, reject };
    const abort = (): void => {
      if (execution.thread) this.#kill(execution.thread, reject);
      else this.#giveUp(execution, 'it was aborted while it waited for a thread');
    };
    abortSignal.addEventListener('abort', abort, { once: true });
    const queue = this.#queues.get(owner);
    if (queue) queue.push(execution);
    else this.#queues.set(owner, [execution]);
    this.#startNext();
    const stopWaiting = platform.schedule(maxWaitMs, () => {
      if (!execution.thread) this.#giveUp(execution, `no thread was free for ${maxWaitMs} ms; try again later`);
    });
    try {
      return await promise;
    } finally {
      stopWaiting();
      abortSignal.removeEventListener('abort', abort);
    }
  }

  #startNext(): void {
    while (this.#idle.length > 0 || this.#threads.size < this.#maxThreads) {
      const execution = this.#takeNext();
      if (!execution) return;
      try {
        const thread = this.#idle.pop() ?? this.#startThread();
        clearTimeout(thread.idleTimer);
        thread.execution = execution;
        execution.thread = thread;
        thread.worker.ref();
        thread.worker.postMessage(execution.params);
      } catch (error) {
        // The operating system has no threads or memory left.
        execution.reject(error);
      }
    }
  }

  /** Removes and returns the first execution of the owner whose turn it is. The owner moves to the end of the order. */
  #takeNext(): ThreadRun | undefined {
    const [next] = this.#queues;
    if (!next) return undefined;
    const [owner, queue] = next;
    const execution = queue.shift();
    this.#queues.delete(owner);
    if (queue.length > 0) this.#queues.set(owner, queue);
    return execution;
  }

  #startThread(): Thread {
    const thread: Thread = { worker: startWorker(), isEnding: false, execution: undefined, idleTimer: undefined };
    const { worker } = thread;
    this.#threads.add(thread);
    worker.on('message', (output: CodeExecutionOutput) => {
      thread.execution?.resolve(output);
      thread.execution = undefined;
      if (thread.isEnding) return;
      thread.idleTimer = setTimeout(() => this.#end(thread), this.#idleMs).unref();
      worker.unref();
      this.#idle.push(thread);
      this.#startNext();
    });
    worker.on('error', (error) => thread.execution?.reject(error));
    worker.on('exit', (code) => {
      thread.execution?.resolve(failure(`The thread of the code ended with code ${code} and no result.`));
      this.#forget(thread);
      this.#startNext();
    });
    return thread;
  }

  /** Ends a thread that has an execution. Its `exit` settles the execution, and starts the next one on a new thread. */
  #kill(thread: Thread, onFailure: (error: unknown) => void): void {
    thread.isEnding = true;
    thread.worker.terminate().catch(onFailure);
  }

  #end(thread: Thread): void {
    this.#forget(thread);
    // The thread is idle: no execution waits for its end.
    void thread.worker.terminate();
  }

  #forget(thread: Thread): void {
    clearTimeout(thread.idleTimer);
    this.#threads.delete(thread);
    const index = this.#idle.indexOf(thread);
    if (index >= 0) this.#idle.splice(index, 1);
  }

  /** Removes an execution from the queue. Its owner keeps its position. */
  #giveUp(execution: ThreadRun, reason: string): void {
    const queue = this.#queues.get(execution.owner) ?? [];
    const left = queue.filter((waiting) => waiting !== execution);
    if (left.length > 0) this.#queues.set(execution.owner, left);
    else this.#queues.delete(execution.owner);
    execution.resolve(failure(`The code was not run: ${reason}.`));
  }
}

function startWorker(): Worker {
  sharedEngine ??= new WebAssembly.Module(readFileSync(requireHere.resolve('@eventloom/quickjs/engine.wasm')));
  const module = pathToFileURL(requireHere.resolve('@eventloom/quickjs')).href;
  return new Worker(THREAD, {
    eval: true,
    workerData: { module, wasmModule: sharedEngine },
    env: {},
    execArgv: [],
    name: 'quickjs',
  });
}

function failure(stderr: string): CodeExecutionOutput {
  return { stdout: '', stderr, outcome: 'OUTCOME_FAILED' };
}

function defaultThreads(): number {
  return Math.min(8, Math.max(2, availableParallelism() - 1));
}
