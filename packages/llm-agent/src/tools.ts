import {
  appendInstructions,
  appendTools,
  BaseTool,
  CallbackContext,
  ConfigurationError,
  type EventActions,
  type FunctionDeclaration,
  type InvocationContext,
  type LlmRequest,
  ToolContext,
} from '@eventloom/core';
import { enclosureOf, isBaseTool, reportTo } from '@eventloom/core/internal';
import type { LlmAgent } from './llm-agent.ts';
import type { ToolUnion } from './llm-agent-config.ts';
import type { RequestProcessor } from './request.ts';
import { isPlainTool } from './agent-turn.ts';
import { turnToolsets } from './turn-toolsets.ts';

/** Adds the tools that the model may call. */
export const addTools: RequestProcessor = (request, { agent, context, fixedParts }, actions) => {
  const selecting = context.plugins.has('beforeToolSelection');
  const isPausing = context.runConfig.pauseOnToolCalls === true;
  if (selecting || !fixedParts.tools || context.extraTools.length > 0 || isPausing || offersClientTools(context))
    return addResolvedTools(request, agent, context, selecting, actions);
  appendTools(request, fixedParts.tools);
  return undefined;
};

async function addResolvedTools(
  request: LlmRequest,
  agent: LlmAgent,
  context: InvocationContext,
  selecting: boolean,
  eventActions: EventActions,
): Promise<void> {
  const before = request.toolsDict;
  let tools = await resolveTools(agent, context);
  addMissingToolsets(request, context);
  if (selecting) {
    const offered = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
    const selected = await context.plugins.first('beforeToolSelection', {
      callbackContext: new CallbackContext({ invocationContext: context, eventActions }),
      tools: offered,
    });
    // A plugin that selects tools by name gives undefined for one that this agent does not have.
    if (selected) tools = Object.values<BaseTool | undefined>(selected).filter((tool) => tool !== undefined);
  }
  for (const tool of tools) {
    if (isPlainTool(tool)) appendTools(request, [tool]);
    else
      await tool.processLlmRequest({
        toolContext: new ToolContext({ invocationContext: context, functionCallId: '', eventActions }),
        llmRequest: request,
      });
  }
  if (context.runConfig.pauseOnToolCalls === true) leaveToClient(request, before);
}

/** Replaces the tools that were added to a request since `before` by ones that the client runs. Their declarations stay. */
function leaveToClient(request: LlmRequest, before: LlmRequest['toolsDict']): void {
  const toolsDict = Object.assign(Object.create(null) as Record<string, BaseTool>, request.toolsDict);
  for (const name of Object.keys(toolsDict)) if (!before[name]) toolsDict[name] = new ClientTool(name, { name });
  request.toolsDict = toolsDict;
}

/** Tells the model which toolsets are unavailable. */
function addMissingToolsets(request: LlmRequest, context: InvocationContext): void {
  const { missing } = turnToolsets(context);
  if (missing.size === 0) return;
  const names = Array.from(missing, (name) => `"${name}"`).join(', ');
  appendInstructions(request, [
    `The tools of these toolsets are unavailable at the moment: ${names}. Say so when a request needs them.`,
  ]);
}

/**
 * Lists the agent's tools, with each toolset replaced by its tools, the tools given for this run, and the client's functions. Tools of a
 * toolset that skips taken names get what the others leave, in the order of the toolsets.
 * @throws ConfigurationError if two of the others have the same name
 */
async function resolveTools(agent: LlmAgent, context: InvocationContext): Promise<BaseTool[]> {
  const toolsets = turnToolsets(context);
  const lists = await Promise.all(
    agent.tools.map(async (tool) => (isBaseTool(tool) ? [tool] : toolsets.list(tool, context))),
  );
  const skipping = new Set(agent.tools.flatMap((tool, at) => (isSkipping(tool) ? [lists[at]] : [])));
  const names = new Set<string>();
  for (const { name } of [...lists.filter((list) => !skipping.has(list)).flat(), ...context.extraTools]) {
    if (names.has(name))
      throw new ConfigurationError(
        `agent "${agent.name}": two tools have the name "${name}"; give one of them another name, or the toolset a toolNamePrefix`,
      );
    names.add(name);
  }
  const ofClient = clientTools(context, names);
  for (const { name } of ofClient) names.add(name);
  const offered = lists.flatMap((list) =>
    skipping.has(list) ? list.filter((tool) => isFree(tool, names, context)) : list,
  );
  return [...offered, ...context.extraTools, ...ofClient];
}

function isSkipping(tool: ToolUnion): boolean {
  // A toolset of another version of core may not have the property.
  return 'skipsTakenNames' in tool && tool.skipsTakenNames;
}

/** Takes the name of a tool; false, and a report to the platform, if it is taken. */
function isFree({ name }: BaseTool, names: Set<string>, context: InvocationContext): boolean {
  if (!names.has(name)) {
    names.add(name);
    return true;
  }
  const { taken } = turnToolsets(context);
  const { agent, platform } = context;
  if (!taken.has(name))
    reportTo(
      platform,
      new ConfigurationError(
        `agent "${agent.name}": a toolset's tool "${name}" is not offered, because another tool has the name; give the toolset a toolNamePrefix`,
      ),
    );
  taken.add(name);
  return false;
}

/** A function that the client runs. The client's next message holds the response to a call. */
class ClientTool extends BaseTool {
  readonly #declaration: FunctionDeclaration;

  constructor(name: string, declaration: FunctionDeclaration) {
    // Idempotent, because a call does nothing on the server and a resumed run may repeat it.
    super({ name, description: declaration.description ?? '', isLongRunning: true, idempotent: true });
    this.#declaration = declaration;
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override runAsync(): Promise<undefined> {
    return Promise.resolve(undefined);
  }
}

/** Returns true if the agent offers the functions of `runConfig.clientTools`. Agents called as tools and agents in graphs do not. */
function offersClientTools({ runConfig, branch }: InvocationContext): boolean {
  return (runConfig.clientTools?.length ?? 0) > 0 && enclosureOf(branch) === '';
}

/**
 * Returns the client's functions as tools of the context's agent.
 * @param own the names of the agent's own tools
 * @throws ConfigurationError if a function has one of these names
 */
function clientTools(context: InvocationContext, own: ReadonlySet<string>): BaseTool[] {
  if (!offersClientTools(context)) return [];
  return (context.runConfig.clientTools ?? []).map((declaration) => {
    const { name = '' } = declaration;
    if (own.has(name))
      throw new ConfigurationError(
        `runConfig.clientTools: the agent "${context.agent.name}" has a tool named "${name}"; give the client's function another name`,
      );
    return new ClientTool(name, declaration);
  });
}
