import { BaseTool, type CallbackContext } from '@eventloom/core';
import { AgentTool } from '@eventloom/multi-agent';
import { FunctionTool, LongRunningFunctionTool, type ToolInputParameters } from '@eventloom/tools';

// The classes are those of other packages. Their types take any context, because programs have one type for all contexts.

/** One call of a tool by the program: of a callback, or of another tool. */
interface CallOfProgram {
  /** The arguments by name. A `FunctionTool` checks them. */
  readonly args: Record<string, unknown>;
  /** The context of the callback or tool that calls. Outside a tool call the called tool cannot ask a person. */
  readonly toolContext: CallbackContext;
}

declare abstract class OwnBaseTool extends BaseTool {
  abstract override runAsync(request: CallOfProgram): unknown;
}

declare class OwnFunctionTool<P extends ToolInputParameters = undefined> extends FunctionTool<P> {
  override runAsync(request: CallOfProgram): unknown;
}

declare class OwnLongRunningTool<P extends ToolInputParameters = undefined> extends LongRunningFunctionTool<P> {
  override runAsync(request: CallOfProgram): Promise<unknown>;
}

declare class OwnAgentTool extends AgentTool {
  override runAsync(request: CallOfProgram): Promise<unknown>;
}

/** Any tool of programs that were written for `@google/adk`, also one of another package of Eventloom. */
export type AdkBaseTool = OwnBaseTool;

/**
 * Base class of tools for programs that were written for `@google/adk`: that of `@eventloom/core`, whose `runAsync` a program may also
 * call with a `Context`.
 *
 * @example
 * const runTool = (tool: BaseTool, context: Context): unknown => tool.runAsync({ args: {}, toolContext: context });
 */
export const AdkBaseTool: typeof OwnBaseTool = BaseTool;

/** A tool made from a function, in programs that were written for `@google/adk`. */
export type AdkFunctionTool<P extends ToolInputParameters = undefined> = OwnFunctionTool<P>;

/**
 * A tool made from a function, for programs that were written for `@google/adk`: the `FunctionTool` of `@eventloom/tools`, whose `runAsync`
 * a program may also call with a `Context`.
 *
 * @example
 * const clock = new FunctionTool({
 *   name: 'get_time',
 *   description: 'Returns the current time in UTC.',
 *   execute: () => ({ time: new Date().toISOString() }),
 * });
 */
export const AdkFunctionTool: typeof OwnFunctionTool = FunctionTool;

/** A tool whose result comes after the run, in programs that were written for `@google/adk`. */
export type AdkLongRunningTool<P extends ToolInputParameters = undefined> = OwnLongRunningTool<P>;

/**
 * A tool whose result comes after the run, for programs that were written for `@google/adk`: the `LongRunningFunctionTool` of
 * `@eventloom/tools`, whose `runAsync` a program may also call with a `Context`.
 */
export const AdkLongRunningTool: typeof OwnLongRunningTool = LongRunningFunctionTool;

/** A tool that runs an agent, in programs that were written for `@google/adk`. */
export type AdkAgentTool = OwnAgentTool;

/**
 * A tool that runs an agent, for programs that were written for `@google/adk`: the `AgentTool` of `@eventloom/multi-agent`, whose
 * `runAsync` a program may also call with a `Context`.
 *
 * @example
 * const agent = new LlmAgent({ name: 'writer', model: 'gemini-flash-latest' });
 * const write = new FunctionTool({
 *   name: 'write',
 *   description: 'Writes a text about a subject.',
 *   parameters: z.object({ subject: z.string() }),
 *   execute: ({ subject }, context?: Context) => {
 *     if (!context) return { error: 'there is no context' };
 *     return new AgentTool({ agent }).runAsync({ args: { request: subject }, toolContext: context });
 *   },
 * });
 */
export const AdkAgentTool: typeof OwnAgentTool = AgentTool;
