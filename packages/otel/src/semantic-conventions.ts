import type { BaseLlm } from '@eventloom/core';

/**
 * Attributes of the GenAI semantic conventions, version 0.1.0, which are in development. Attributes that begin with `eventloom` are ours.
 */
export const AGENT_DESCRIPTION = 'gen_ai.agent.description';
export const AGENT_NAME = 'gen_ai.agent.name';
export const CONVERSATION_ID = 'gen_ai.conversation.id';
export const ERROR_TYPE = 'error.type';
export const INPUT_MESSAGES = 'gen_ai.input.messages';
export const OPERATION_NAME = 'gen_ai.operation.name';
export const OUTPUT_MESSAGES = 'gen_ai.output.messages';
export const PROVIDER_NAME = 'gen_ai.provider.name';
export const REQUEST_MODEL = 'gen_ai.request.model';
export const REQUEST_STREAM = 'gen_ai.request.stream';
export const RESPONSE_FINISH_REASONS = 'gen_ai.response.finish_reasons';
export const RESPONSE_MODEL = 'gen_ai.response.model';
export const RESPONSE_TIME_TO_FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk';
export const SYSTEM_INSTRUCTIONS = 'gen_ai.system_instructions';
export const TOKEN_TYPE = 'gen_ai.token.type';
export const TOOL_CALL_ARGUMENTS = 'gen_ai.tool.call.arguments';
export const TOOL_CALL_ID = 'gen_ai.tool.call.id';
export const TOOL_CALL_RESULT = 'gen_ai.tool.call.result';
export const TOOL_NAME = 'gen_ai.tool.name';
export const TOOL_TYPE = 'gen_ai.tool.type';
export const USAGE_CACHE_READ_INPUT_TOKENS = 'gen_ai.usage.cache_read.input_tokens';
export const USAGE_INPUT_TOKENS = 'gen_ai.usage.input_tokens';
export const USAGE_OUTPUT_TOKENS = 'gen_ai.usage.output_tokens';
export const USAGE_REASONING_OUTPUT_TOKENS = 'gen_ai.usage.reasoning.output_tokens';
export const USER_ID = 'user.id';
/** Name of a node of a graph. */
export const NODE_NAME = 'eventloom.node.name';
export const NODE_OUTPUT = 'eventloom.node.output';
/** Id of the run. */
export const INVOCATION_ID = 'eventloom.invocation_id';
/** Id of the execution of an agent, which its events have too. */
export const EXECUTION_ID = 'eventloom.execution_id';
/** True on the span of a run that was resumed. */
export const RESUMED = 'eventloom.resumed';
/** True on a model call that is a live connection. */
export const LIVE = 'eventloom.live';
/** True if the operation was closed early, because its reader stopped reading or the run was aborted. */
export const LEFT = 'eventloom.left';
/** The cost of a model call, in the currency of the prices. */
export const COST = 'eventloom.cost';

/** The numeric options of a request, with the names of their attributes. */
export const REQUEST_NUMBERS = [
  { option: 'temperature', attribute: 'gen_ai.request.temperature' },
  { option: 'topP', attribute: 'gen_ai.request.top_p' },
  { option: 'topK', attribute: 'gen_ai.request.top_k' },
  { option: 'maxOutputTokens', attribute: 'gen_ai.request.max_tokens' },
  { option: 'presencePenalty', attribute: 'gen_ai.request.presence_penalty' },
  { option: 'frequencyPenalty', attribute: 'gen_ai.request.frequency_penalty' },
  { option: 'seed', attribute: 'gen_ai.request.seed' },
] as const;

/** Providers of the AI SDK by the first segment of their names, with their names in the conventions. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** Returns the name of the service that a model calls, as the model states it; otherwise the name of the model's class. */
export function providerOf(model: BaseLlm): string {
  const provider: unknown = 'provider' in model ? model.provider : undefined;
  if (typeof provider !== 'string' || provider === '') return model.constructor.name;
  if (provider.startsWith('gcp.')) return provider;
  if (provider.startsWith('google.vertex')) return 'gcp.vertex_ai';
  const [name = provider] = provider.split('.');
  return Object.hasOwn(PROVIDERS, name) ? (PROVIDERS[name] ?? name) : name;
}
