import type { RequestProcessor } from '../processors/request-processor.ts';

/** What the agent's code executor has to say: how code is run, or that the model runs it itself. */
export const addCodeExecution: RequestProcessor = (request, { agent, context }) => {
  agent.codeExecutor?.processLlmRequest({ invocationContext: context, llmRequest: request });
};
