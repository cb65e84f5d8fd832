import type { FunctionDeclaration } from '@eventloom/core';
import { FunctionTool, type ToolInputParameters, type ToolOptions } from './function-tool.ts';

const NOTE =
  'The result comes later. After one call, also when its answer is a pending status, do not call this tool again for the same thing.';

/**
 * A tool whose result comes later. Its function starts the work and may return a first status, or undefined for none yet; the
 * result is sent to the agent as a function response, with the call's id, in a later message. Until then the agent waits.
 */
export class LongRunningFunctionTool<P extends ToolInputParameters = undefined> extends FunctionTool<P> {
  #declaration: FunctionDeclaration | undefined;

  constructor(options: Omit<ToolOptions<P>, 'isLongRunning'>) {
    super({ ...options, isLongRunning: true });
  }

  override _getDeclaration(): FunctionDeclaration {
    return (this.#declaration ??= { ...super._getDeclaration(), description: `${this.description}\n\n${NOTE}`.trim() });
  }
}
