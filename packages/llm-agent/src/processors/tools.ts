import {
  appendInstructions,
  appendTools,
  type BaseTool,
  CallbackContext,
  ConfigurationError,
  type EventActions,
  type InvocationContext,
  isBaseTool,
  type LlmRequest,
  ToolContext,
} from '@eventloom/core';
import type { LlmAgent } from '../llm-agent.ts';
import { isPlainTool } from '../static-request.ts';
import { clientTools, offersClientTools } from './client-tools.ts';
import type { RequestProcessor } from './request-processor.ts';
import { turnToolsets } from './turn-toolsets.ts';

/** The tools that the model may call. */
export const addTools: RequestProcessor = (request, { agent, context }, actions) => {
  const selecting = context.plugins.has('beforeToolSelection');
  const fixed = agent.staticRequest.tools;
  if (selecting || !fixed || context.extraTools.length > 0 || offersClientTools(context))
    return addResolvedTools(request, agent, context, selecting, actions);
  if (request.config.tools) {
    appendTools(request, Object.values(fixed.toolsDict));
    return undefined;
  }
  request.toolsDict = fixed.toolsDict;
  if (fixed.declarations.length > 0) request.config.tools = [{ functionDeclarations: fixed.declarations.slice() }];
  return undefined;
};

async function addResolvedTools(
  request: LlmRequest,
  agent: LlmAgent,
  context: InvocationContext,
  selecting: boolean,
  eventActions: EventActions,
): Promise<void> {
  let tools = await resolveTools(agent, context);
  addMissingToolsets(request, context);
  if (selecting) {
    const offered = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
    const selected = await context.plugins.first('beforeToolSelection', {
      callbackContext: new CallbackContext({ invocationContext: context, eventActions }),
      tools: offered,
    });
    if (selected) tools = Object.values(selected);
  }
  for (const tool of tools) {
    if (isPlainTool(tool)) appendTools(request, [tool]);
    else
      await tool.processLlmRequest({
        toolContext: new ToolContext({ invocationContext: context, functionCallId: '', eventActions }),
        llmRequest: request,
      });
  }
}

/** Tells the model which toolsets it has to do without. */
function addMissingToolsets(request: LlmRequest, context: InvocationContext): void {
  const { missing } = turnToolsets(context);
  if (missing.size === 0) return;
  const names = Array.from(missing, (name) => `"${name}"`).join(', ');
  appendInstructions(request, [
    `The tools of these toolsets are unavailable at the moment: ${names}. Say so when a request needs them.`,
  ]);
}

/**
 * The agent's tools, those of its toolsets in place of each, those given for this run, and the functions that the client runs.
 * @throws ConfigurationError when two have one name
 */
async function resolveTools(agent: LlmAgent, context: InvocationContext): Promise<BaseTool[]> {
  const toolsets = turnToolsets(context);
  const lists = await Promise.all(
    agent.tools.map(async (tool) => (isBaseTool(tool) ? [tool] : toolsets.list(tool, context))),
  );
  const tools = [...lists.flat(), ...context.extraTools];
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) throw new ConfigurationError(`agent "${agent.name}": two tools have the name "${name}"`);
    names.add(name);
  }
  tools.push(...clientTools(context, names));
  return tools;
}
