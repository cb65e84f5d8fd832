import { createLlmRequest, type LlmRequest } from '@eventloom/core';
import { addBasicConfig } from '../processors/basic.ts';
import { addContents } from '../processors/contents.ts';
import { addIdentity } from '../processors/identity.ts';
import { addInstructions } from '../processors/instructions.ts';
import { addOutputSchema } from '../processors/output-schema.ts';
import type { RequestProcessor, Step } from '../processors/request-processor.ts';
import { addTools } from '../processors/tools.ts';

/** In order: what a later one adds stands behind what an earlier one did. */
const PROCESSORS: readonly RequestProcessor[] = [
  addBasicConfig,
  addInstructions,
  addIdentity,
  addContents,
  addTools,
  addOutputSchema,
];

/** The model request of one step; at once when no processor has to wait. */
export function prepareRequest(step: Step): LlmRequest | Promise<LlmRequest> {
  return process(createLlmRequest(), step, 0);
}

function process(request: LlmRequest, step: Step, first: number): LlmRequest | Promise<LlmRequest> {
  for (let index = first; index < PROCESSORS.length; index++) {
    const pending = PROCESSORS[index]?.(request, step);
    if (pending) return pending.then(() => process(request, step, index + 1));
  }
  return request;
}
