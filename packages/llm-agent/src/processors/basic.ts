import type { RequestProcessor } from './request-processor.ts';

/** How the agent wants its model to answer. */
export const addBasicConfig: RequestProcessor = (request, { agent, model }) => {
  request.model = model.model;
  if (agent.generateContentConfig) request.config = { ...agent.generateContentConfig };
};
