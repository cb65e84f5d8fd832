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

/** The model request of one step. */
export async function prepareRequest(step: Step): Promise<LlmRequest> {
  const request = createLlmRequest();
  for (const process of PROCESSORS) {
    const pending = process(request, step);
    if (pending) await pending;
  }
  return request;
}
