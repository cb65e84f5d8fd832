import { copyPlain } from '../step/copy-request.ts';
import type { RequestProcessor } from './request-processor.ts';

/** How the agent wants its model to answer: a copy, because a request belongs to its call and the agent to all of them. */
export const addBasicConfig: RequestProcessor = (request, { agent, model }) => {
  request.model = model.model;
  if (agent.generateContentConfig) request.config = copyPlain(agent.generateContentConfig);
};
