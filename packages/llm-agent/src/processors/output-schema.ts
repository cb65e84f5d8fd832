import { appendInstructions, appendTools } from '@eventloom/core';
import { SetModelResponseTool } from '../set-model-response-tool.ts';
import type { RequestProcessor } from './request-processor.ts';

/**
 * The shape of the answer. A model that cannot both call tools and answer in a shape gets a tool by which it hands in the answer.
 * Runs after the tools, because what it does depends on there being any.
 */
export const addOutputSchema: RequestProcessor = (request, { agent, model }) => {
  const schema = agent.outputValueSchema;
  if (!schema) return;
  const hasTools = (request.config.tools?.length ?? 0) > 0;
  if (!hasTools || model.supportsOutputSchemaWithTools(request.model ?? model.model)) {
    request.config.responseMimeType = 'application/json';
    request.config.responseJsonSchema = schema.json;
    return;
  }
  const tool = new SetModelResponseTool(schema);
  appendTools(request, [tool]);
  appendInstructions(request, [
    `When you have the final answer, hand it in by calling ${tool.name} with it. Do not write it as text.`,
  ]);
};
