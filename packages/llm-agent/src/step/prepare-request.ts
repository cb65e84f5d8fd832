import { createLlmRequest, type LlmRequest } from '@eventloom/core';
import { addCodeExecution } from '../code-execution/add-code-execution.ts';
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

/** The model request of one step; at once when no processor has to wait. */
export function prepareRequest(step: Step): LlmRequest | Promise<LlmRequest> {
  return process(createLlmRequest(), step, 0);
}

/** The tools of one step alone, for calls that go on before the model is asked. */
export async function prepareTools(step: Step): Promise<LlmRequest['toolsDict']> {
  const request = createLlmRequest();
  await addAgentTransfer(request, step);
  await addTools(request, step);
  await addOutputSchema(request, step);
  return request.toolsDict;
}

function process(request: LlmRequest, step: Step, first: number): LlmRequest | Promise<LlmRequest> {
  for (let index = first; index < PROCESSORS.length; index++) {
    const pending = PROCESSORS[index]?.(request, step);
    if (pending) return pending.then(() => process(request, step, index + 1));
  }
  return request;
}
