import { CallbackContext, type EventActions, type LlmResponse } from '@eventloom/core';
import type { Step } from '../processors/request-processor.ts';

/** A whole response as the agent's planner wants it. What the planner writes to state goes into the actions. */
export function plannedResponse(
  { agent: { planner }, context }: Step,
  response: LlmResponse,
  eventActions: EventActions,
): LlmResponse {
  const { content } = response;
  if (!planner || !content?.parts?.length) return response;
  const callbackContext = new CallbackContext({ invocationContext: context, eventActions });
  const parts = planner.processPlanningResponse(callbackContext, content.parts);
  return parts ? { ...response, content: { ...content, parts: [...parts] } } : response;
}
