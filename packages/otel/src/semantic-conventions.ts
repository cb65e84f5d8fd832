import type { BaseLlm, Operation } from '@eventloom/core';
import { type Attributes, SpanKind } from '@opentelemetry/api';
import { capturedInstruction, capturedMessages, capturedValue } from './captured-content.ts';

/** Attributes of the GenAI semantic conventions, version 0.1.0, which are in development; and our own, which begin with `eventloom`. */
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
/** Id of the run. */
export const INVOCATION_ID = 'eventloom.invocation_id';
/** Id of the execution of an agent, which its events have as well. */
export const EXECUTION_ID = 'eventloom.execution_id';
/** True on the span of a run that was resumed. */
export const RESUMED = 'eventloom.resumed';
/** True on a model call that is a live connection. */
export const LIVE = 'eventloom.live';
/** True if the operation was closed early: its reader stopped reading, or the run was aborted. */
export const LEFT = 'eventloom.left';
/** The cost of a model call, in the currency of the prices. */
export const COST = 'eventloom.cost';

/** The data that is written into spans beside their names, ids and counts. */
export interface CaptureSettings {
  /** Longest text of one attribute with content; undefined: no content. */
  readonly contentLength: number | undefined;
  readonly captureUserId: boolean;
}

/** Returns the name of an operation's span. */
export function nameOf(operation: Operation): string {
  if (operation.kind === 'run') return `invoke_workflow ${operation.context.appName}`;
  if (operation.kind === 'agent') return `invoke_agent ${operation.context.agent.name}`;
  return operation.kind === 'model' ? `chat ${modelOf(operation)}` : `execute_tool ${operation.name}`;
}

export function kindOf({ kind }: Operation): SpanKind {
  return kind === 'model' ? SpanKind.CLIENT : SpanKind.INTERNAL;
}

/** Returns the attributes that an operation has when it starts. */
export function attributesOf(operation: Operation, { contentLength, captureUserId }: CaptureSettings): Attributes {
  const { context } = operation;
  const place = operation.kind === 'tool' ? operation.context.invocationContext : operation.context;
  const attributes: Attributes = {
    [OPERATION_NAME]: OPERATIONS[operation.kind],
    [CONVERSATION_ID]: place.invocation.session.id,
    [INVOCATION_ID]: context.invocationId,
  };
  if (captureUserId) attributes[USER_ID] = place.userId;
  if (operation.kind === 'run') {
    attributes[AGENT_NAME] = operation.context.appName;
    if (operation.resumed) attributes[RESUMED] = true;
    return attributes;
  }
  const { agent, executionId } = place;
  attributes[AGENT_NAME] = agent.name;
  attributes[EXECUTION_ID] = executionId;
  if (operation.kind === 'agent') {
    if (agent.description !== '') attributes[AGENT_DESCRIPTION] = agent.description;
  } else if (operation.kind === 'tool') {
    attributes[TOOL_NAME] = operation.name;
    attributes[TOOL_TYPE] = 'function';
    attributes[TOOL_CALL_ID] = operation.context.functionCallId;
    if (contentLength !== undefined) attributes[TOOL_CALL_ARGUMENTS] = capturedValue(operation.args, contentLength);
  } else {
    addRequest(attributes, operation);
    if (contentLength !== undefined) addContent(attributes, operation, contentLength);
  }
  return attributes;
}

const OPERATIONS: Readonly<Record<Operation['kind'], string>> = {
  run: 'invoke_workflow',
  agent: 'invoke_agent',
  model: 'chat',
  tool: 'execute_tool',
};

type ModelOperation = Extract<Operation, { readonly kind: 'model' }>;

/** The numbers of a request's options, by the names of their attributes. */
const REQUEST_NUMBERS = [
  ['temperature', 'gen_ai.request.temperature'],
  ['topP', 'gen_ai.request.top_p'],
  ['topK', 'gen_ai.request.top_k'],
  ['maxOutputTokens', 'gen_ai.request.max_tokens'],
  ['presencePenalty', 'gen_ai.request.presence_penalty'],
  ['frequencyPenalty', 'gen_ai.request.frequency_penalty'],
  ['seed', 'gen_ai.request.seed'],
] as const;

function addRequest(attributes: Attributes, operation: ModelOperation): void {
  const { config } = operation.request;
  attributes[PROVIDER_NAME] = providerOf(operation.model);
  attributes[REQUEST_MODEL] = modelOf(operation);
  if (operation.live) attributes[LIVE] = true;
  for (const [option, attribute] of REQUEST_NUMBERS) {
    const value = config[option];
    if (typeof value === 'number') attributes[attribute] = value;
  }
}

function addContent(attributes: Attributes, { request }: ModelOperation, contentLength: number): void {
  attributes[INPUT_MESSAGES] = capturedMessages(request.contents, contentLength);
  const { systemInstruction } = request.config;
  if (systemInstruction !== undefined)
    attributes[SYSTEM_INSTRUCTIONS] = capturedInstruction(systemInstruction, contentLength);
}

function modelOf({ model, request }: ModelOperation): string {
  return request.model ?? model.model;
}

/** Providers of the AI SDK, by the first segment of their names, and the names that the conventions give them. */
const PROVIDERS: Readonly<Record<string, string>> = {
  'amazon-bedrock': 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
};

/** Returns the name of the service that a model says it calls. Models that do not say it get the name of their class. */
function providerOf(model: BaseLlm): string {
  const provider: unknown = 'provider' in model ? model.provider : undefined;
  if (typeof provider !== 'string' || provider === '') return model.constructor.name;
  if (provider.startsWith('gcp.')) return provider;
  if (provider.startsWith('google.vertex')) return 'gcp.vertex_ai';
  const [name = provider] = provider.split('.');
  return Object.hasOwn(PROVIDERS, name) ? (PROVIDERS[name] ?? name) : name;
}
