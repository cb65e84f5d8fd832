import { appendInstructions, ReadonlyContext } from '@eventloom/core';
import type { RequestProcessor } from './request-processor.ts';

/** What the agent's planner has to say to the model. */
export const addPlanning: RequestProcessor = (request, { agent, context }) => {
  if (!agent.planner) return;
  const instruction = agent.planner.buildPlanningInstruction(new ReadonlyContext(context), request);
  if (instruction !== undefined) appendInstructions(request, [instruction]);
};
