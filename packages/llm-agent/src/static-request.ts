import { BaseTool, type FunctionDeclaration, isBaseTool } from '@eventloom/core';
import type { LlmAgent } from './llm-agent.ts';
import type { InstructionProvider } from './llm-agent-config.ts';

/** Tools and what the model is told of them. Shared by every request: not to be modified. */
export interface StaticTools {
  readonly toolsDict: Readonly<Record<string, BaseTool>>;
  readonly declarations: readonly FunctionDeclaration[];
}

/** What of an agent's model requests is the same in every step. Computed when first needed, once for an agent. */
export class StaticRequest {
  readonly #agent: LlmAgent;
  #tools: { readonly value: StaticTools | undefined } | undefined;

  constructor(agent: LlmAgent) {
    this.#agent = agent;
  }

  /** The agent's tools, when all of them do nothing to a request but add themselves. */
  get tools(): StaticTools | undefined {
    return (this.#tools ??= { value: staticTools(this.#agent) }).value;
  }
}

/** True for text with nothing to fill in. */
export function isPlainInstruction(instruction: string | InstructionProvider): instruction is string {
  return typeof instruction === 'string' && !instruction.includes('{');
}

/** True for a tool that does nothing to a request but add itself. */
export function isPlainTool(tool: BaseTool): boolean {
  return tool.processLlmRequest === BaseTool.prototype.processLlmRequest;
}

function staticTools(agent: LlmAgent): StaticTools | undefined {
  const toolsDict = Object.create(null) as Record<string, BaseTool>;
  const declarations: FunctionDeclaration[] = [];
  for (const tool of agent.tools) {
    if (!isBaseTool(tool) || !isPlainTool(tool)) return undefined;
    toolsDict[tool.name] = tool;
    const declaration = tool._getDeclaration();
    if (declaration) declarations.push(declaration);
  }
  return { toolsDict: Object.freeze(toolsDict), declarations };
}
