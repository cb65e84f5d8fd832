import { appendInstructions, type InvocationContext, type LlmRequest, ReadonlyContext } from '@eventloom/core';
import { injectSessionState } from '../instruction-template.ts';
import type { LlmAgent } from '../llm-agent.ts';
import type { InstructionProvider } from '../llm-agent-config.ts';
import { isPlainInstruction } from '../static-request.ts';
import type { RequestProcessor } from './request-processor.ts';

/** Instructions: the global one, the static one as it stands, the agent's own. */
export const addInstructions: RequestProcessor = (request, { agent, context }) => {
  const { globalInstruction, staticInstruction, instruction } = agent;
  if (!isPlainInstruction(globalInstruction) || !isPlainInstruction(instruction)) {
    return addResolved(request, agent, context);
  }
  appendInstructions(request, [globalInstruction, staticInstruction, instruction]);
  return undefined;
};

async function addResolved(request: LlmRequest, agent: LlmAgent, context: InvocationContext): Promise<void> {
  const global = await resolve(agent.globalInstruction, context);
  const own = await resolve(agent.instruction, context);
  appendInstructions(request, [global, agent.staticInstruction, own]);
}

/** A function's text is taken as it is; other text is filled from state. */
async function resolve(instruction: string | InstructionProvider, context: InvocationContext): Promise<string> {
  if (typeof instruction === 'function') return instruction(new ReadonlyContext(context));
  return injectSessionState(instruction, context);
}
