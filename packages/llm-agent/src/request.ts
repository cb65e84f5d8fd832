import {
  appendInstructions,
  appendTools,
  ConfigurationError,
  type CacheMetadata,
  createEventActions,
  type Event,
  type EventActions,
  type InvocationContext,
  type LlmRequest,
  type MaybePromise,
  ObjectType,
  ReadonlyContext,
} from '@eventloom/core';
import {
  copyPlain,
  DerivedKey,
  describeKind,
  isCacheMetadata,
  isEmptyActions,
  isRecord,
  isVisibleOn,
} from '@eventloom/core/internal';
import { inputFilesOf, withFileNames } from './code-execution/code-contents.ts';
import { sessionContents } from './contents/contents-builder.ts';
import { resolveInstruction } from './instruction-template.ts';
import type { LlmAgent } from './llm-agent.ts';
import type { InstructionProvider } from './llm-agent-config.ts';
import { type AgentTurn, identityInstruction } from './agent-turn.ts';
import { addTools } from './tools.ts';
import { OutputTool } from './output.ts';

/**
 * Prepares the model request of one step. If the turn has a `fixedRequest`, as with a plain instruction and plain tools, the
 * request is made of that and the contents, and **no processor runs**. Otherwise the processors build it, in the order of
 * `PROCESSORS`. Returns synchronously if none of them has to wait.
 * @param actions the actions of the reply's event, which receive changes that plugins and tools make during this step
 */
export function prepareRequest(turn: AgentTurn, actions: EventActions): MaybePromise<LlmRequest> {
  const { agent, model, fixedRequest } = turn;
  if (!fixedRequest) return runProcessors(agent.createRequest(turn.context), turn, actions, 0);
  const config = agent.generateContentConfig ? copyPlain(agent.generateContentConfig) : {};
  config.systemInstruction = fixedRequest.instruction;
  if (fixedRequest.declarations.length > 0)
    config.tools = [{ functionDeclarations: fixedRequest.declarations.slice() }];
  return {
    model: model.model,
    contents: sessionContents(turn.context, model, agent.codeExecutor, agent.includeContents),
    config,
    toolsDict: fixedRequest.toolsDict,
  };
}

/** The tools of one step, without the rest of the request. */
interface PreparedTools {
  readonly tools: LlmRequest['toolsDict'];
  /** An event with the changes that plugins and tools made during this step. The caller yields it first. Undefined if there were none. */
  readonly changes: Event | undefined;
}

/** Prepares the tools of one step without a request, for calls that run before the model is called. */
export async function prepareTools(turn: AgentTurn): Promise<PreparedTools> {
  const request = turn.agent.createRequest(turn.context);
  const actions = createEventActions();
  for (const add of [addAgentTransfer, addTools, addOutputSchema]) await add(request, turn, actions);
  const changes = isEmptyActions(actions)
    ? undefined
    : turn.context.createEvent({ object: ObjectType.preprocessingTools, actions });
  return { tools: request.toolsDict, changes };
}

function runProcessors(
  request: LlmRequest,
  turn: AgentTurn,
  actions: EventActions,
  first: number,
): MaybePromise<LlmRequest> {
  for (let index = first; index < PROCESSORS.length; index++) {
    const pending = PROCESSORS[index]?.(request, turn, actions);
    if (pending) return pending.then(() => runProcessors(request, turn, actions, index + 1));
  }
  return request;
}

/** Adds the model's name and a copy of the agent's `generateContentConfig`. */
const addBasicConfig: RequestProcessor = (request, { agent, model }) => {
  request.model = model.model;
  if (agent.generateContentConfig) request.config = copyPlain(agent.generateContentConfig);
};

/**
 * Adds the root's global instruction, the agent's static instruction and its instruction, the instructions of its
 * caller, and a sentence with the agent's name.
 */
const addInstructions: RequestProcessor = (request, { agent, context, fixedParts }) => {
  if (fixedParts.instruction === undefined || context.extraInstructions.length > 0)
    return addResolved(request, agent, context, fixedParts.globalInstruction);
  appendInstructions(request, [fixedParts.instruction]);
  return undefined;
};

async function addResolved(
  request: LlmRequest,
  agent: LlmAgent,
  context: InvocationContext,
  globalInstruction: string | InstructionProvider,
): Promise<void> {
  const { name } = context.invocation.rootAgent;
  const readonlyContext = new ReadonlyContext(context);
  const global = await resolveInstruction(`agent "${name}": globalInstruction`, globalInstruction, readonlyContext);
  const own = await resolveInstruction(`agent "${agent.name}": instruction`, agent.instruction, readonlyContext);
  const { staticInstruction } = agent;
  const { extraInstructions } = context;
  appendInstructions(request, [global, staticInstruction, own, ...extraInstructions, identityInstruction(agent)]);
}

/** Adds the conversation so far, as the agent's model sees it. */
const addContents: RequestProcessor = (request, { agent, context, model }) => {
  request.contents = sessionContents(context, model, agent.codeExecutor, agent.includeContents);
};

/** Adds the instruction of the agent's planner. */
const addPlanning: RequestProcessor = (request, { agent, context, model }) => {
  if (!agent.planner) return;
  if (agent.planner.setsThinkingConfig && !model.capabilities(request.model).thinking)
    throw new ConfigurationError(
      `agent "${agent.name}": its planner sets thinkingConfig, and the model "${model.model}" does not think; write planner: new PlanReActPlanner()`,
    );
  const instruction: unknown = agent.planner.buildPlanningInstruction(new ReadonlyContext(context), request);
  if (instruction === undefined) return;
  if (typeof instruction !== 'string')
    throw new ConfigurationError(
      `agent "${agent.name}": planner: buildPlanningInstruction: expected a string or nothing, got ${describeKind(instruction)}; write return 'Write a plan first.'`,
    );
  appendInstructions(request, [instruction]);
};

/** Adds the tool that transfers to another agent, and an instruction that names the targets. */
const addAgentTransfer: RequestProcessor = (request, { fixedParts: { transfer } }) => {
  if (!transfer) return;
  appendInstructions(request, [transfer.instruction]);
  appendTools(request, [transfer.tool]);
};

/**
 * Adds the instruction of the agent's code executor, and the names of the files that code can read. The names are put
 * beside the files in the user's message, so this processor runs after the contents. An executor without an instruction
 * gets no names.
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
 * Adds the output schema. A model that cannot combine tools with a schema gets the tool `set_model_response` instead.
 * Runs after the tools are added, because it depends on whether there are any.
 */
const addOutputSchema: RequestProcessor = (request, { agent, model }) => {
  const schema = agent.outputValueSchema;
  if (agent.mode === 'task') {
    const tool = OutputTool.forTask(schema);
    appendTools(request, [tool]);
    appendInstructions(request, [
      `Work on your task with your tools until every part of it is done, and ask the user if it is unclear. Then call ${tool.name} with the result, by itself and without any text. Do not call it before.`,
    ]);
    return;
  }
  if (!schema) return;
  const hasTools = (request.config.tools?.length ?? 0) > 0;
  if (!hasTools || model.capabilities(request.model).outputSchemaWithTools) {
    request.config.responseMimeType = 'application/json';
    request.config.responseJsonSchema = schema.json;
    return;
  }
  const tool = new OutputTool(schema);
  appendTools(request, [tool]);
  appendInstructions(request, [
    `When you have the final answer, hand it in by calling ${tool.name} with it. Do not write it as text.`,
  ]);
};

/** Checks that the model takes the tools of the request. Runs after everything that adds tools. */
const checkRequestTools: RequestProcessor = (request, turn) => {
  if (request.config.tools?.length) checkTools(request.config.tools, turn);
};

/**
 * Checks that the model can use the tools.
 * @throws ConfigurationError for tools of a model without them, and for a built-in tool of Google's service with
 * another service's model
 */
function checkTools(tools: readonly unknown[], { agent, model }: AgentTurn): void {
  const capabilities = model.capabilities();
  if (capabilities.tools && capabilities.builtInTools) return;
  for (const tool of tools) {
    if (!isRecord(tool)) continue;
    const { functionDeclarations } = tool;
    const names = Array.isArray(functionDeclarations) ? functionDeclarations.map(nameOf) : Object.keys(tool);
    if (!capabilities.tools)
      throw new ConfigurationError(
        `agent "${agent.name}": the model "${model.model}" cannot call tools, and the agent has ${names.join(', ')}; give it another model, or remove the tools`,
      );
    // A tool of the model's own vendor, in the form of the AI SDK.
    if (!functionDeclarations && tool['type'] !== 'provider')
      throw new ConfigurationError(
        `agent "${agent.name}": Google's service runs the tool ${names.join(', ')}, and the model "${model.model}" is of another service; write model: 'gemini-flash-latest', or remove the tool`,
      );
  }
}

function nameOf(declaration: unknown): string {
  return isRecord(declaration) && typeof declaration['name'] === 'string' ? declaration['name'] : '';
}

/** The newest cache metadata among the first `count` events of the session, from replies of the agent. */
interface CacheInfo {
  readonly count: number;
  readonly metadata: CacheMetadata | undefined;
  readonly invocationId: string;
  readonly promptTokens: number | undefined;
}

/** Context caches by the name and the branch of their agent. */
const CACHES = new DerivedKey<Map<string, CacheInfo>>('context caches');

/**
 * Adds the runner's `contextCacheConfig` and the newest `cacheMetadata` of the agent's replies. Models without context
 * caching ignore both.
 */
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

/** Reads the events since the last request. Rewound events are not excluded, because the service checks fingerprints. */
function cacheInfo({ agent, branch, session: { events }, invocation: { derived } }: InvocationContext): CacheInfo {
  const key = `${agent.name}@${branch ?? ''}`;
  let caches = derived.get(CACHES);
  if (!caches) derived.set(CACHES, (caches = new Map()));
  const known = caches.get(key);
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
  caches.set(key, info);
  return info;
}

/**
 * Adds one part of a model request. Changes that plugins and tools make go into `actions`, the actions of the reply's event.
 */
export type RequestProcessor = (request: LlmRequest, turn: AgentTurn, actions: EventActions) => void | Promise<void>;

/** The processors in the order in which they run and in which their instructions appear in the request. */
const PROCESSORS: readonly RequestProcessor[] = [
  addBasicConfig,
  addInstructions,
  addContents,
  addPlanning,
  addAgentTransfer,
  addTools,
  addCodeExecution,
  addOutputSchema,
  checkRequestTools,
  addContextCache,
];
