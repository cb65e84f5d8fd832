import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AiSdkLlm } from '@eventloom/ai-sdk';
import { FallbackModel, FunctionTool, LlmAgent } from 'eventloom';
import { z } from 'zod';

const getTime = new FunctionTool({
  name: 'get_time',
  description: 'Returns the local time in a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, time: '10:45' }),
});

/** Creates an agent that speaks with the first server, and with the second one when the first fails. */
export function createGuide(nearUrl: string, farUrl: string): LlmAgent {
  const near = createOpenAICompatible({ name: 'near', baseURL: `${nearUrl}/v1`, includeUsage: true });
  const far = createOpenAICompatible({ name: 'far', baseURL: `${farUrl}/v1`, includeUsage: true });
  const retry = { attempts: 1 };
  return new LlmAgent({
    name: 'guide',
    model: new FallbackModel({
      models: [new AiSdkLlm(near('qwen3'), { retry }), new AiSdkLlm(far('llama3.2'), { retry })],
    }),
    instruction: 'Answer in one sentence.',
    tools: [getTime],
  });
}
