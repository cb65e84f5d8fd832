import { type CodeExecutionOutput, type CodeFile } from '@eventloom/core';
import { checkEngine, createEngine, type QuickJsEngine } from './create-engine.ts';
import { checkBounds, type QuickJsBounds } from './quickjs-bounds.ts';
import { Sandbox } from './sandbox.ts';
import { Watch } from './watch.ts';

/** Parameters of `runInQuickJs`: the code, the files that it can read, and its limits. */
export interface RunInQuickJsParams extends QuickJsEngine, QuickJsBounds {
  readonly code: string;
  readonly inputFiles?: readonly CodeFile[];
  /** Returns the current time in milliseconds. */
  readonly now: () => number;
}

/**
 * Runs JavaScript in a new QuickJS instance and returns its output. See QuickJsCodeExecutor for what the code can do. The engine is loaded
 * asynchronously; the code runs on the calling thread and blocks it.
 * @throws ConfigurationError for a limit out of range, and for a module that is not this package's
 */
export async function runInQuickJs(params: RunInQuickJsParams): Promise<CodeExecutionOutput> {
  const bounds = checkBounds('runInQuickJs', params);
  checkEngine(params);
  const watch = new Watch(bounds, params.now);
  const { memoryBytes } = bounds;
  const engine = await createEngine({ ...params, memoryBytes, onTick: () => watch.tick() });
  return new Sandbox(engine, bounds, watch).run(params.code, params.inputFiles ?? []);
}
