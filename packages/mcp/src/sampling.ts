import {
  type CreateMessageRequestParams,
  type CreateMessageResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/client';
import { type Content, createLlmRequest, type LlmResponse, type Part, type ToolContext } from '@eventloom/core';
import { isLlmAgent } from '@eventloom/llm-agent';
import { createTurn, ModelCall } from '@eventloom/llm-agent/internal';

/** Maximum number of messages in one request. */
const MAX_MESSAGES = 100;
/** Maximum number of characters in one request, media included. */
const MAX_CHARACTERS = 10_485_760;
/** Maximum number of tokens that a server may ask for. */
const MAX_TOKENS = 16_384;
/** Maximum number of texts that end a reply. */
const MAX_STOPS = 16;

/**
 * Answers a server's request for a reply of a model, with the model of the agent whose call the server works on. The callbacks around model
 * calls, the limit of model calls and the instrumentation apply. The model gets only what the server sends, not the conversation.
 * @throws ProtocolError, which the server gets, for a request that cannot be answered
 */
export async function sample(
  params: CreateMessageRequestParams,
  toolContext: ToolContext,
): Promise<CreateMessageResult> {
  const context = toolContext.invocationContext;
  const { agent } = context;
  if (!isLlmAgent(agent)) throw refused('the agent has no model');
  if (params.tools?.length) throw refused('requests with tools are not supported');
  if (params.messages.length > MAX_MESSAGES || JSON.stringify(params).length > MAX_CHARACTERS)
    throw refused(`at most ${MAX_MESSAGES} messages with ${MAX_CHARACTERS} characters are allowed`);
  const turn = createTurn(agent, context);
  const { model } = turn.model;
  const request = createLlmRequest();
  request.model = model;
  request.contents = params.messages.map(({ role, content }) => toContent(role, content));
  request.config = {
    maxOutputTokens: Math.min(Math.max(1, Math.floor(params.maxTokens)), MAX_TOKENS),
    ...(params.systemPrompt !== undefined && { systemInstruction: params.systemPrompt }),
    ...(params.temperature !== undefined && { temperature: params.temperature }),
    ...(params.stopSequences && { stopSequences: params.stopSequences.slice(0, MAX_STOPS) }),
  };
  const call = new ModelCall(turn, request, toolContext.actions);
  let response: LlmResponse | undefined = call.hasBeforeCallbacks ? await call.before() : undefined;
  if (!response) {
    context.progress.countLlmCall();
    for await (const received of call.generate(false))
      if (received.partial !== true) response = call.hasAfterCallbacks ? await call.after(received) : received;
  }
  const texts = response?.content?.parts?.flatMap(({ text, thought }) => (thought === true ? [] : (text ?? [])));
  if (!response || response.errorCode !== undefined || !texts?.length) throw refused('the model gave no answer');
  return {
    role: 'assistant',
    model: response.modelVersion ?? model,
    content: { type: 'text', text: texts.join('') },
    stopReason: response.finishReason === 'MAX_TOKENS' ? 'maxTokens' : 'endTurn',
  };
}

type SampledMessage = CreateMessageRequestParams['messages'][number];

function toContent(role: SampledMessage['role'], content: SampledMessage['content']): Content {
  const blocks = Array.isArray(content) ? content : [content];
  const parts = blocks.map((block): Part => {
    if (block.type === 'text') return { text: block.text };
    if (block.type === 'image' || block.type === 'audio')
      return { inlineData: { mimeType: block.mimeType, data: block.data } };
    throw refused(`content of type ${JSON.stringify(block.type)} is not supported`);
  });
  return { role: role === 'assistant' ? 'model' : 'user', parts };
}

function refused(reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, reason);
}
