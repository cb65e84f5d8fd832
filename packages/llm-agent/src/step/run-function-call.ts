import { type BaseTool, copyJson, type EventActions, type FunctionCall, toError, ToolContext } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';
import { toToolResponse } from './tool-response.ts';

/** What came of one call. */
export interface FunctionCallOutcome {
  /** Undefined while a long-running tool has nothing to say yet. */
  readonly response: Record<string, unknown> | undefined;
  readonly actions: EventActions;
}

/**
 * Runs one function call with the callbacks around it. Whatever the tool does, the model gets an answer: what it throws is
 * answered as `{error}`. What a callback throws fails the run, as does losing the session.
 */
export async function runFunctionCall(
  step: Step,
  call: FunctionCall,
  tools: Readonly<Record<string, BaseTool>>,
): Promise<FunctionCallOutcome> {
  const { context } = step;
  const toolContext = new ToolContext({ invocationContext: context, functionCallId: call.id ?? '' });
  const { actions } = toolContext;
  const tool = tools[call.name ?? ''];
  if (!tool) return { response: unknownTool(call.name, tools), actions };

  const entry = { invocationId: context.invocationId, callId: call.id ?? '', name: tool.name };
  await context.invocation.recordToolCall({ ...entry, status: 'started' });
  const response = await answer(step, tool, call, toolContext);
  await context.invocation.recordToolCall({ ...entry, status: 'finished', ...(response ? { response } : {}) });
  return { response, actions };
}

async function answer(
  step: Step,
  tool: BaseTool,
  call: FunctionCall,
  toolContext: ToolContext,
): Promise<Record<string, unknown> | undefined> {
  const { agent, context } = step;
  const { plugins } = context;
  const copied = copyJson(call.args ?? {});
  if ('fault' in copied)
    return { error: `the arguments of ${tool.name} are not JSON: at ${copied.fault.path}: ${copied.fault.reason}` };
  const args = copied.value as Record<string, unknown>;

  let response: Record<string, unknown> | undefined = await plugins.first('beforeToolCallback', {
    tool,
    toolArgs: args,
    toolContext,
  });
  for (const callback of response ? [] : agent.beforeToolCallback) {
    response = (await callback({ tool, args, context: toolContext })) || undefined;
    if (response) break;
  }
  if (!response) {
    try {
      const result = await context.untilAborted(tool.runAsync({ args, toolContext }));
      if (result === undefined && tool.isLongRunning) return undefined;
      response = toToolResponse(tool.name, result);
    } catch (thrown) {
      if (context.abortSignal.aborted) throw thrown;
      response = await answerError(step, tool, args, toolContext, toError(thrown));
    }
  }

  const replaced = await plugins.first('afterToolCallback', { tool, toolArgs: args, toolContext, result: response });
  if (replaced) return toToolResponse(tool.name, replaced);
  for (const callback of agent.afterToolCallback) {
    const other = await callback({ tool, args, context: toolContext, response });
    if (other) return toToolResponse(tool.name, other);
  }
  return toToolResponse(tool.name, response);
}

async function answerError(
  step: Step,
  tool: BaseTool,
  args: Record<string, unknown>,
  toolContext: ToolContext,
  error: Error,
): Promise<Record<string, unknown>> {
  const recovered = await step.context.plugins.first('onToolErrorCallback', {
    tool,
    toolArgs: args,
    toolContext,
    error,
  });
  if (recovered) return recovered;
  for (const callback of step.agent.onToolErrorCallback) {
    const response = await callback({ tool, args, context: toolContext, error });
    if (response) return response;
  }
  return { error: error.message || error.name };
}

function unknownTool(name: string | undefined, tools: Readonly<Record<string, BaseTool>>): Record<string, unknown> {
  const names = Object.keys(tools);
  return {
    error: `there is no tool named "${name}"; ${names.length > 0 ? `the tools are: ${names.join(', ')}` : 'there are no tools'}`,
  };
}
