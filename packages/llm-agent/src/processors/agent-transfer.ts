import { appendInstructions, appendTools } from '@eventloom/core';
import type { RequestProcessor } from './request-processor.ts';

/** The agents that the model may hand the conversation over to, and the tool to do so. */
export const addAgentTransfer: RequestProcessor = (request, { agent, context }) => {
  const transfer = agent.staticRequest.transfer(context.invocation.rootAgent === agent);
  if (!transfer) return;
  appendInstructions(request, [transfer.instruction]);
  appendTools(request, [transfer.tool]);
};
