import type { BaseLlm, EventActions, InvocationContext, LlmRequest } from '@eventloom/core';
import type { LlmAgent } from '../llm-agent.ts';

/** What one step of the think-act loop is about. */
export interface Step {
  readonly agent: LlmAgent;
  readonly model: BaseLlm;
  readonly context: InvocationContext;
}

/**
 * One stage in making a model request: adds its share and leaves the rest alone. What plugins and tools change meanwhile goes into the
 * actions of the event to come.
 */
export type RequestProcessor = (request: LlmRequest, step: Step, actions: EventActions) => void | Promise<void>;
