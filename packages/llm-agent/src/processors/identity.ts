import { appendInstructions } from '@eventloom/core';
import type { RequestProcessor } from './request-processor.ts';

/** Tells the model which agent it is. */
export const addIdentity: RequestProcessor = (request, { agent }) => {
  const description = agent.description === '' ? '' : ` The description about you is "${agent.description}".`;
  appendInstructions(request, [`You are an agent. Your internal name is "${agent.name}".${description}`]);
};
