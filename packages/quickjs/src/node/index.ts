// Runs JavaScript that a model writes on threads.

export type { QuickJsThreadCodeExecutorOptions } from './quickjs-thread-code-executor.ts';
export { QuickJsThreadCodeExecutor } from './quickjs-thread-code-executor.ts';
export type { QuickJsThreadRun, QuickJsThreadsOptions } from './quickjs-threads.ts';
export { QuickJsThreads } from './quickjs-threads.ts';
