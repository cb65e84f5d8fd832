// Runs JavaScript that a model writes, in QuickJS compiled to WebAssembly.

export type { QuickJsCodeExecutorOptions } from './quickjs-code-executor.ts';
export { QuickJsCodeExecutor } from './quickjs-code-executor.ts';
export type { QuickJsBounds } from './quickjs-bounds.ts';
export type { QuickJsEngine } from './create-engine.ts';
export type { RunInQuickJsParams } from './run-in-quickjs.ts';
export { runInQuickJs } from './run-in-quickjs.ts';
