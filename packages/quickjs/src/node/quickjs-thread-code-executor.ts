import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type CodeExecutionOutput, type ExecuteCodeParams, toError } from '@eventloom/core';
import { QuickJsCodeExecutor } from '../quickjs-code-executor.ts';

/** What the thread does: the request comes with it, the result goes back. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
import(workerData.module)
  .then(({ runInQuickJs }) => runInQuickJs({ ...workerData.params, now: () => performance.now() }))
  .then((output) => parentPort.postMessage(output));
`;

/**
 * QuickJsCodeExecutor on a thread that is started for each execution and ended with it. The calling thread goes on meanwhile,
 * and an abort of the run ends the code at once.
 */
export class QuickJsThreadCodeExecutor extends QuickJsCodeExecutor {
  override executeCode(params: ExecuteCodeParams): Promise<CodeExecutionOutput> {
    const { abortSignal } = params;
    const { promise, resolve, reject } = Promise.withResolvers<CodeExecutionOutput>();
    const worker = new Worker(THREAD, {
      eval: true,
      workerData: { module: packageUrl(), params: this.toRunParams(params) },
      env: {},
      execArgv: [],
      name: 'quickjs',
    });
    worker.on('message', resolve);
    worker.on('error', reject);
    worker.on('exit', (code) => {
      const stderr = `The thread of the code ended with code ${code} and no result.`;
      resolve({ stdout: '', stderr, outcome: 'OUTCOME_FAILED' });
    });
    const end = (): void => {
      worker.terminate().catch((error: unknown) => reject(toError(error)));
    };
    abortSignal.addEventListener('abort', end, { once: true });
    if (abortSignal.aborted) end();
    return promise.finally(() => {
      abortSignal.removeEventListener('abort', end);
      end();
    });
  }
}

/** Where this package's root is: the thread imports it by itself. */
function packageUrl(): string {
  return pathToFileURL(createRequire(import.meta.url).resolve('@eventloom/quickjs')).href;
}
