import { type CodeExecutionOutput, type CodeFile } from '@eventloom/core';
import { checkEngine, createEngine, type QuickJsEngine } from './create-engine.ts';
import { checkBounds, type QuickJsBounds } from './quickjs-bounds.ts';
import { Sandbox } from './sandbox.ts';
import { Watch } from './watch.ts';

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
 * @throws ConfigurationError for a bound that cannot work, and for a module that is not this package's
 */
export async function runInQuickJs(params: RunInQuickJsParams): Promise<CodeExecutionOutput> {
  const bounds = checkBounds(params);
  checkEngine(params);
  const watch = new Watch(bounds, params.now);
  const { memoryBytes } = bounds;
  const engine = await createEngine({ ...params, memoryBytes, onTick: () => watch.tick() });
  return new Sandbox(engine, bounds, watch).run(params.code, params.inputFiles ?? []);
}
