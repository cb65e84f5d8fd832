// Runs a model's code in processes of this machine.

export type { LocalSandboxOptions, UnsafeLocalCodeExecutorOptions } from './unsafe-local-code-executor.ts';
export { openLocalSandbox, UnsafeLocalCodeExecutor } from './unsafe-local-code-executor.ts';
