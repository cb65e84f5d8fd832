import {
  appendInstructions,
  appendTools,
  type CacheMetadata,
  type Content,
  createEventActions,
  createLlmRequest,
  type Event,
  type EventActions,
  type InvocationContext,
  type LlmRequest,
  type MaybePromise,
  ReadonlyContext,
} from '@eventloom/core';
import { isCacheMetadata, isEmptyActions, isVisibleOn } from '@eventloom/core/internal';
import { inputFilesOf, withFileNames } from './code-execution/code-contents.ts';
import { currentTurnContents, sessionContents } from './contents/session-contents.ts';
import { injectSessionState } from './instruction-template.ts';
import type { LlmAgent } from './llm-agent.ts';
import type { InstructionProvider } from './llm-agent-config.ts';
import type { AgentTurn } from './agent-turn.ts';
import { addTools } from './tools.ts';
import { SetModelResponseTool } from './output.ts';
import { identityInstruction } from './static-request.ts';
import { copyPlain } from './reply.ts';

/**
 * Prepares the model request of one step. Returns at once if no processor has to wait.
 * @param actions of the event of the model's answer: changes that plugins and tools make meanwhile go there
 */
export function prepareRequest(turn: AgentTurn, actions: EventActions): MaybePromise<LlmRequest> {
  const { whole } = turn.parts;
  if (!whole || !turn.isStatic) return process(createLlmRequest(), turn, actions, 0);
  const { agent, model } = turn;
  const config = agent.generateContentConfig ? copyPlain(agent.generateContentConfig) : {};
  config.systemInstruction = whole.instruction;
  if (whole.declarations.length > 0) config.tools = [{ functionDeclarations: whole.declarations.slice() }];
  return { model: model.model, contents: contentsOf(turn), config, toolsDict: whole.toolsDict };
}

/** The tools of one step alone. */
export interface PreparedTools {
  readonly tools: LlmRequest['toolsDict'];
  /** The changes that plugins and tools made while they were prepared: to be yielded first. */
  readonly changes: Event | undefined;
}

/** Prepares the tools of one step alone, for calls that continue before the model is asked. */
export async function prepareTools(turn: AgentTurn): Promise<PreparedTools> {
  const request = createLlmRequest();
  const actions = createEventActions();
  for (const add of [addAgentTransfer, addTools, addOutputSchema]) await add(request, turn, actions);
  const changes = isEmptyActions(actions) ? undefined : turn.context.createEvent({ actions });
  return { tools: request.toolsDict, changes };
}

function process(request: LlmRequest, turn: AgentTurn, actions: EventActions, first: number): MaybePromise<LlmRequest> {
  for (let index = first; index < PROCESSORS.length; index++) {
    const pending = PROCESSORS[index]?.(request, turn, actions);
    if (pending) return pending.then(() => process(request, turn, actions, index + 1));
  }
  return request;
}

/** Adds the model and a copy of `generateContentConfig`, which every request of the agent starts from. */
const addBasicConfig: RequestProcessor = (request, { agent, model }) => {
  request.model = model.model;
  if (agent.generateContentConfig) request.config = copyPlain(agent.generateContentConfig);
};

/**
 * Adds the root's global instruction, the static one as it is, the agent's own and those that the caller of the agent added, and tells the
 * model which agent it is.
 */
const addInstructions: RequestProcessor = (request, { agent, context, parts }) => {
  if (parts.instruction === undefined || context.extraInstructions.length > 0)
    return addResolved(request, agent, context, parts.globalInstruction);
  appendInstructions(request, [parts.instruction]);
  return undefined;
};

async function addResolved(
  request: LlmRequest,
  agent: LlmAgent,
  context: InvocationContext,
  globalInstruction: string | InstructionProvider,
): Promise<void> {
  const global = await resolve(globalInstruction, context);
  const own = await resolve(agent.instruction, context);
  const { staticInstruction } = agent;
  const { extraInstructions } = context;
  appendInstructions(request, [global, staticInstruction, own, ...extraInstructions, identityInstruction(agent)]);
}

/** The text that a function returns is used as it is; other text is filled from state. */
async function resolve(instruction: string | InstructionProvider, context: InvocationContext): Promise<string> {
  if (typeof instruction === 'function') return instruction(new ReadonlyContext(context));
  return injectSessionState(instruction, context);
}

/** Adds the conversation so far, as the agent's model sees it. */
const addContents: RequestProcessor = (request, turn) => {
  request.contents = contentsOf(turn);
};

function contentsOf({ agent, context, model }: AgentTurn): Content[] {
  const select = agent.includeContents === 'none' ? currentTurnContents : sessionContents;
  return select(context, model, agent.codeExecutor);
}

/** Adds the instruction of the agent's planner. */
const addPlanning: RequestProcessor = (request, { agent, context }) => {
  if (!agent.planner) return;
  const instruction = agent.planner.buildPlanningInstruction(new ReadonlyContext(context), request);
  if (instruction !== undefined) appendInstructions(request, [instruction]);
};

/** Adds the tool that transfers to another agent, and an instruction that names the targets. */
const addAgentTransfer: RequestProcessor = (request, { parts: { transfer } }) => {
  if (!transfer) return;
  appendInstructions(request, [transfer.instruction]);
  appendTools(request, [transfer.tool]);
};

/**
 * Adds the instruction of the agent's code executor and the names of the files that code can read. It needs the contents of the
 * request: each name stands beside its file in the user's message. An executor without an instruction gets no names.
 */
const addCodeExecution: RequestProcessor = (request, { agent: { codeExecutor }, context }) => {
  if (!codeExecutor) return;
  codeExecutor.processLlmRequest({ invocationContext: context, llmRequest: request });
  const files = codeExecutor.instruction === '' ? [] : inputFilesOf(context.userContent);
  if (files.length === 0) return;
  appendInstructions(request, [
    'Code can read the files in the message of the user, each by the name that stands in front of it.',
  ]);
  request.contents = withFileNames(request.contents, files);
};

/**
 * Adds the output schema. A model that cannot combine tools with a schema gets a tool that takes the answer. Runs after the tools,
 * because it depends on whether there are any.
 */
const addOutputSchema: RequestProcessor = (request, { agent, model }) => {
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

/** Cache metadata of the agent's replies in the first `count` events of the session. */
interface CacheInfo {
  readonly count: number;
  readonly metadata: CacheMetadata | undefined;
  readonly invocationId: string;
  readonly promptTokens: number | undefined;
}

/** Adds the runner's `contextCacheConfig` and the newest `cacheMetadata` of the agent's replies. Models without a service cache ignore them. */
const addContextCache: RequestProcessor = (request, { context }) => {
  const { contextCacheConfig } = context.invocation;
  if (!contextCacheConfig) return;
  const { metadata, promptTokens, invocationId } = cacheInfo(context);
  request.cacheConfig = contextCacheConfig;
  if (promptTokens !== undefined) request.cacheableContentsTokenCount = promptTokens;
  if (!metadata) return;
  const isUsedAgain = metadata.invocationsUsed !== undefined && invocationId !== context.invocationId;
  request.cacheMetadata = isUsedAgain ? { ...metadata, invocationsUsed: metadata.invocationsUsed + 1 } : metadata;
};

/** Reads the events since the last request. Rewound events do no harm, because the service checks fingerprints. */
function cacheInfo({ agent, branch, session: { events }, invocation: { derived } }: InvocationContext): CacheInfo {
  const key = `context cache:${agent.name}@${branch ?? ''}`;
  // Only this function uses the key.
  const known = derived.get(key) as CacheInfo | undefined;
  let { metadata, invocationId = '', promptTokens }: Partial<CacheInfo> = known ?? {};
  for (const event of events.slice(known?.count ?? 0)) {
    if (event.author !== agent.name || !isVisibleOn(event.branch, branch)) continue;
    if (isCacheMetadata(event.cacheMetadata)) {
      metadata = event.cacheMetadata;
      invocationId = event.invocationId;
    }
    promptTokens = event.usageMetadata?.promptTokenCount ?? promptTokens;
  }
  const info = { count: events.length, metadata, invocationId, promptTokens };
  derived.set(key, info);
  return info;
}

/**
 * Adds one part of a model request. Changes that plugins and tools make meanwhile go into the actions of the event of the model's
 * answer.
 */
export type RequestProcessor = (request: LlmRequest, turn: AgentTurn, actions: EventActions) => void | Promise<void>;

/** In this order: what a later processor adds comes after what an earlier one added. */
const PROCESSORS: readonly RequestProcessor[] = [
  addBasicConfig,
  addInstructions,
  addContents,
  addPlanning,
  addAgentTransfer,
  addTools,
  addCodeExecution,
  addOutputSchema,
  addContextCache,
];
