import type { InvocationContext } from '../context/invocation-context.ts';
import { ToolTimeoutError } from '../errors.ts';
import type { BaseTool, RunAsyncToolRequest } from './base-tool.ts';

/** Returns the context for a call of a tool that has a `timeoutMs`: a copy with an abort of its own, which `runInTime` fires. */
export function contextInTime(context: InvocationContext): InvocationContext {
  return context.withAbort(context.abortGuard.fork());
}

/**
 * Runs a tool for its `timeoutMs` at most. Then the abort signal of the call fires, and the promise rejects with a
 * ToolTimeoutError, even if the tool ignores the signal; what it returns later is ignored.
 * @param request its `toolContext` is in a context of `contextInTime`
 */
export async function runInTime(tool: BaseTool, timeoutMs: number, request: RunAsyncToolRequest): Promise<unknown> {
  const { abortGuard, platform } = request.toolContext.invocationContext;
  const late = new ToolTimeoutError(
    `the call of ${tool.name} took longer than ${timeoutMs} ms and was stopped; it may have had its effect or not`,
  );
  const cancel = platform.schedule(timeoutMs, () => abortGuard.abort(late));
  try {
    return await abortGuard.until(Promise.resolve(tool.runAsync(request)));
  } catch (error) {
    throw abortGuard.signal.reason === late ? late : error;
  } finally {
    cancel();
  }
}
