import { appendInstructions, type InvocationContext, type LlmRequest, ReadonlyContext } from '@eventloom/core';
import { injectSessionState } from '../instruction-template.ts';
import { isLlmAgent } from '../is-llm-agent.ts';
import type { LlmAgent } from '../llm-agent.ts';
import type { InstructionProvider } from '../llm-agent-config.ts';
import { isPlainInstruction } from '../static-request.ts';
import type { RequestProcessor } from './request-processor.ts';

/** Instructions: the root's global one, the static one as it stands, the agent's own, and what whoever runs the agent adds. */
export const addInstructions: RequestProcessor = (request, { agent, context }) => {
  const global = globalInstruction(context);
  const { staticInstruction, instruction } = agent;
  if (!isPlainInstruction(global) || !isPlainInstruction(instruction)) return addResolved(request, agent, context);
  appendInstructions(request, [global, staticInstruction, instruction, ...context.extraInstructions]);
  return undefined;
};

function globalInstruction({ invocation: { rootAgent } }: InvocationContext): string | InstructionProvider {
  return isLlmAgent(rootAgent) ? rootAgent.globalInstruction : '';
}

async function addResolved(request: LlmRequest, agent: LlmAgent, context: InvocationContext): Promise<void> {
  const global = await resolve(globalInstruction(context), context);
  const own = await resolve(agent.instruction, context);
  appendInstructions(request, [global, agent.staticInstruction, own, ...context.extraInstructions]);
}

/** A function's text is taken as it is; other text is filled from state. */
async function resolve(instruction: string | InstructionProvider, context: InvocationContext): Promise<string> {
  if (typeof instruction === 'function') return instruction(new ReadonlyContext(context));
  return injectSessionState(instruction, context);
}
