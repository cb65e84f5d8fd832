import {
  createEventActions,
  createLlmRequest,
  type Event,
  type EventActions,
  isEmptyActions,
  type LlmRequest,
} from '@eventloom/core';
import { addCodeExecution } from '../code-execution/input-files.ts';
import { addAgentTransfer } from '../processors/agent-transfer.ts';
import { addBasicConfig } from '../processors/basic.ts';
import { addContents } from '../processors/contents.ts';
import { addContextCache } from '../processors/context-cache.ts';
import { addIdentity } from '../processors/identity.ts';
import { addInstructions } from '../processors/instructions.ts';
import { addOutputSchema } from '../processors/output-schema.ts';
import { addPlanning } from '../processors/planning.ts';
import type { RequestProcessor, Step } from '../processors/request-processor.ts';
import { addTools } from '../processors/tools.ts';

/** In order: what a later one adds stands behind what an earlier one did. */
const PROCESSORS: readonly RequestProcessor[] = [
  addBasicConfig,
  addInstructions,
  addIdentity,
  addContents,
  addPlanning,
  addAgentTransfer,
  addTools,
  addCodeExecution,
  addOutputSchema,
  addContextCache,
];

/**
 * The model request of one step; at once when no processor has to wait.
 * @param actions of the event that the model's answer will be
 */
export function prepareRequest(step: Step, actions: EventActions): LlmRequest | Promise<LlmRequest> {
  return process(createLlmRequest(), step, actions, 0);
}

/** The tools of one step alone. */
export interface PreparedTools {
  readonly tools: LlmRequest['toolsDict'];
  /** What plugins and tools changed meanwhile: to be yielded first. */
  readonly changes: Event | undefined;
}

/** The tools of one step alone, for calls that go on before the model is asked. */
export async function prepareTools(step: Step): Promise<PreparedTools> {
  const request = createLlmRequest();
  const actions = createEventActions();
  for (const add of [addAgentTransfer, addTools, addOutputSchema]) await add(request, step, actions);
  const changes = isEmptyActions(actions) ? undefined : step.context.createEvent({ actions });
  return { tools: request.toolsDict, changes };
}

function process(
  request: LlmRequest,
  step: Step,
  actions: EventActions,
  first: number,
): LlmRequest | Promise<LlmRequest> {
  for (let index = first; index < PROCESSORS.length; index++) {
    const pending = PROCESSORS[index]?.(request, step, actions);
    if (pending) return pending.then(() => process(request, step, actions, index + 1));
  }
  return request;
}
