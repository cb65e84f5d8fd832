import { type BaseAgent, BaseTool, type FunctionDeclaration, isBaseTool } from '@eventloom/core';
import { transferInstruction, transferTargets, TransferToAgentTool } from '@eventloom/multi-agent';
import type { LlmAgent } from './llm-agent.ts';
import type { InstructionProvider } from './llm-agent-config.ts';

/** Tools and what the model is told of them. Shared by every request: not to be modified. */
export interface StaticTools {
  readonly toolsDict: Readonly<Record<string, BaseTool>>;
  readonly declarations: readonly FunctionDeclaration[];
}

/** How the model hands the conversation over, and to whom. Shared by every request: not to be modified. */
export interface StaticTransfer {
  readonly tool: TransferToAgentTool;
  readonly instruction: string;
}

/** What of an agent's model requests is the same in every step. Computed when first needed, once for an agent. */
export class StaticRequest {
  readonly #agent: LlmAgent;
  #instruction: { readonly global: unknown; readonly text: string | undefined } | undefined;
  #tools: { readonly value: StaticTools | undefined } | undefined;
  #transfer: { readonly value: StaticTransfer | undefined } | undefined;
  #rootTransfer: { readonly value: StaticTransfer | undefined } | undefined;

  constructor(agent: LlmAgent) {
    this.#agent = agent;
  }

  /**
   * The system instruction below a global one: undefined when one of its texts is made for each request, from state or by a function.
   * Does not hold what the agent's caller adds.
   */
  instruction(global: string | InstructionProvider): string | undefined {
    if (this.#instruction?.global !== global)
      this.#instruction = { global, text: staticInstruction(this.#agent, global) };
    return this.#instruction.text;
  }

  /** The agent's tools, when all of them do nothing to a request but add themselves. */
  get tools(): StaticTools | undefined {
    return (this.#tools ??= { value: staticTools(this.#agent) }).value;
  }

  /** How the agent hands over; undefined when there is nobody to hand over to. At the top of a tree there is nobody above it. */
  transfer(isRoot: boolean): StaticTransfer | undefined {
    const agent = this.#agent;
    // The root of a run may have a parent that the run knows nothing of: an agent called as a tool.
    if (isRoot) return (this.#rootTransfer ??= { value: staticTransfer(agent, agent) }).value;
    return (this.#transfer ??= { value: staticTransfer(agent, agent.rootAgent) }).value;
  }
}

/** The sentence that tells the model which agent it is. */
export function identityInstruction({ name, description }: LlmAgent): string {
  const about = description === '' ? '' : ` The description about you is "${description}".`;
  return `You are an agent. Your internal name is "${name}".${about}`;
}

function staticInstruction(agent: LlmAgent, global: string | InstructionProvider): string | undefined {
  const { instruction } = agent;
  if (!isPlainInstruction(global) || !isPlainInstruction(instruction)) return undefined;
  const texts = [global, agent.staticInstruction, instruction, identityInstruction(agent)];
  return texts.filter((text) => text !== '').join('\n\n');
}

/** True for text with nothing to fill in. */
function isPlainInstruction(instruction: string | InstructionProvider): instruction is string {
  return typeof instruction === 'string' && !instruction.includes('{');
}

/** True for a tool that does nothing to a request but add itself. */
export function isPlainTool(tool: BaseTool): boolean {
  return tool.processLlmRequest === BaseTool.prototype.processLlmRequest;
}

function staticTransfer(agent: LlmAgent, root: BaseAgent): StaticTransfer | undefined {
  const targets = transferTargets(agent, root);
  if (targets.length === 0) return undefined;
  return { tool: new TransferToAgentTool(targets), instruction: transferInstruction(agent, targets) };
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
