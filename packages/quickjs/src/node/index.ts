// Runs JavaScript that a model writes on a thread of its own.

export { QuickJsThreadCodeExecutor } from './quickjs-thread-code-executor.ts';
