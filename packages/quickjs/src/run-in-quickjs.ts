import { type CodeExecutionOutput, type CodeFile } from '@eventloom/core';
import { createEngine, type QuickJsEngine } from './create-engine.ts';
import { checkBounds, type QuickJsBounds } from './quickjs-bounds.ts';
import { Sandbox } from './sandbox.ts';

/** Code, what it can read, and what it may use. */
export interface RunInQuickJsParams extends QuickJsEngine, QuickJsBounds {
  readonly code: string;
  readonly inputFiles?: readonly CodeFile[];
  /** The clock, milliseconds. */
  readonly now: () => number;
}

/**
 * Runs JavaScript in an instance of QuickJS of its own and gives what came of it; see QuickJsCodeExecutor for what the code can
 * and cannot do. The engine is loaded without blocking, the code runs on the calling thread and blocks it.
 * @throws ConfigurationError for a bound that cannot work
 */
export async function runInQuickJs(params: RunInQuickJsParams): Promise<CodeExecutionOutput> {
  const bounds = checkBounds(params);
  const engine = await createEngine(params);
  return new Sandbox(engine, bounds, params.now).run(params.code, params.inputFiles ?? []);
}
